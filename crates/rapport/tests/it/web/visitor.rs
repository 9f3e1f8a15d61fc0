//! A browser without a screen: it keeps its cookie, reads pages and sends their forms.

use std::time::{Duration, Instant};

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode};

const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// A paired device.
#[derive(Clone)]
pub(crate) struct WebVisitor {
    pub(crate) root: String,
    pub(crate) cookie: String,
    client: Client,
}

/// A page as it came.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

pub(crate) fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A connection to a server that was killed is not used again.
    Client::builder().no_proxy().redirect(Policy::none()).pool_max_idle_per_host(0).build().unwrap()
}

impl WebVisitor {
    /// Pairs a device by this link.
    pub(crate) async fn pair(link: &str, name: &str) -> Self {
        let response = Self::try_pair(link, name).await;
        let status = response.status();
        let cookie = response.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
        let cookie = cookie.unwrap_or_else(|| panic!("{status}: no cookie"));
        assert!(cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
        let (root, _) = link.split_once("/pair").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { root: root.to_owned(), cookie, client: client() }
    }

    pub(crate) async fn try_pair(link: &str, name: &str) -> Response {
        Self::pairing(link, name).send().await.unwrap()
    }

    /// The same with a server that may be killed meanwhile: then, `None`.
    pub(crate) async fn pair_if_alive(link: &str, name: &str) -> Option<Self> {
        let response = Self::pairing(link, name).send().await.ok()?;
        let cookie = response.headers().get("set-cookie")?.to_str().unwrap().to_owned();
        let (root, cookie) =
            (link.split_once("/pair").unwrap().0, cookie.split(';').next().unwrap().to_owned());
        Some(Self { root: root.to_owned(), cookie, client: client() })
    }

    /// The same device at another address of the server.
    pub(crate) fn at(self, root: String) -> Self {
        Self { root, ..self }
    }

    fn pairing(link: &str, name: &str) -> RequestBuilder {
        let (root, code) = link.split_once("/pair?code=").unwrap();
        client().post(format!("{root}/pair")).body(form(&[("code", code), ("name", name)]))
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.root)).header("cookie", &self.cookie)
    }

    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.root)).header("cookie", &self.cookie);
        request.header("content-type", "application/x-www-form-urlencoded").body(form(fields))
    }

    /// Sends a form with files, which is written out already, with this between its parts.
    pub(crate) fn upload(&self, path: &str, boundary: &str, body: String) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.root)).header("cookie", &self.cookie);
        request.header("content-type", format!("multipart/form-data; boundary={boundary}")).body(body)
    }

    pub(crate) async fn page(&self, path: &str) -> Page {
        Page::of(self.get(path).send().await.unwrap()).await
    }

    /// The same; `None` if the server is gone.
    pub(crate) async fn page_if_alive(&self, path: &str) -> Option<Page> {
        Page::if_complete(self.get(path).send().await.ok()?).await
    }

    /// Sends a form to a server that may be killed meanwhile; the page that follows, or `None`.
    pub(crate) async fn send_if_alive(&self, path: &str, fields: &[(&str, &str)]) -> Option<Page> {
        let response = self.post(path, fields).send().await.ok()?;
        match response.headers().get("location") {
            Some(to) => self.page_if_alive(to.to_str().unwrap()).await,
            None => Page::if_complete(response).await,
        }
    }

    /// Sends a form and reads the page that follows.
    pub(crate) async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let response = self.post(path, fields).send().await.unwrap();
        match response.headers().get("location") {
            Some(to) if response.status() == StatusCode::SEE_OTHER => {
                let to = to.to_str().unwrap().to_owned();
                self.page(&to).await
            }
            _ => Page::of(response).await,
        }
    }

    /// Presses a button of the card on the inbox, with these fields besides.
    pub(crate) async fn press(&self, page: &Page, button: &str, more: &[(&str, &str)]) -> Page {
        let (action, hidden) = page.button(button);
        let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: Vec<_> = hidden.chain(more.iter().copied()).chain([("do", button)]).collect();
        self.send(&action, &fields).await
    }

    /// The same with a server that may be killed meanwhile: then, `None`.
    pub(crate) async fn press_if_alive(
        &self,
        page: &Page,
        button: &str,
        more: &[(&str, &str)],
    ) -> Option<Page> {
        let (action, hidden) = page.button(button);
        let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: Vec<_> = hidden.chain(more.iter().copied()).chain([("do", button)]).collect();
        self.send_if_alive(&action, &fields).await
    }

    /// Waits until a page has this, and gives it.
    pub(crate) async fn sees(&self, path: &str, words: &str) -> Page {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let page = self.page(path).await;
            if page.text.contains(words) {
                return page;
            }
            assert!(Instant::now() < deadline, "{words:?} was expected at {path}:\n{}", page.text);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until a page lacks this.
    pub(crate) async fn misses(&self, path: &str, words: &str) -> Page {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let page = self.page(path).await;
            if page.status == StatusCode::OK && !page.text.contains(words) {
                return page;
            }
            assert!(Instant::now() < deadline, "{words:?} was not expected at {path}:\n{}", page.text);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Page {
    pub(crate) async fn of(response: Response) -> Self {
        Self::if_complete(response).await.unwrap()
    }

    async fn if_complete(response: Response) -> Option<Self> {
        Some(Self { status: response.status(), text: response.text().await.ok()? })
    }

    #[track_caller]
    pub(crate) fn check(&self, status: u16, says: &str) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert!(self.text.contains(says), "{says:?} was expected in:\n{}", self.text);
        self
    }

    /// The first form with this in it.
    #[track_caller]
    fn form_with(&self, words: &str) -> String {
        let forms = self.text.split("<form ").skip(1).map(|rest| rest.split("</form>").next().unwrap());
        let found = forms.into_iter().find(|form| form.contains(words));
        found.unwrap_or_else(|| panic!("no form has {words}:\n{}", self.text)).to_owned()
    }

    /// Where the form with this button is sent to, and what is hidden in it.
    #[track_caller]
    fn button(&self, button: &str) -> (String, Vec<(String, String)>) {
        let form = self.form_with(&format!("value=\"{button}\""));
        let hidden = form
            .split("<input type=\"hidden\" name=\"")
            .skip(1)
            .map(|rest| (rest.split('"').next().unwrap().to_owned(), attribute(rest, "value=\"")))
            .collect();
        (attribute(&form, "action=\""), hidden)
    }

    /// What forms of this page have to repeat.
    #[track_caller]
    pub(crate) fn form_token(&self) -> String {
        attribute(&self.form_with("name=\"form\""), "name=\"form\" value=\"")
    }
}

fn attribute(form: &str, start: &str) -> String {
    let value = form.split_once(start).unwrap_or_else(|| panic!("{start} in {form}")).1;
    let value = value.split('"').next().unwrap();
    value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Fields as a form writes them.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
                other => format!("%{other:02X}"),
            })
            .collect::<String>()
    };
    fields
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect::<Vec<_>>()
        .join("&")
}
