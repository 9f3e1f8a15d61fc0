//! The body of a request, with a time limit for silence.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

/// How long a sender may be silent in the middle of a request.
const SILENCE: Duration = Duration::from_secs(30);

/// A body that ends with an error if its sender is silent for too long.
pub(crate) struct TimedBody {
    body: Incoming,
    late: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    pub(crate) fn new(body: Incoming) -> Self {
        Self { body, late: None }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.late = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let late = self.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(SILENCE)));
        late.as_mut().poll(context).map(|()| Some(Err("the sender was silent for too long".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
