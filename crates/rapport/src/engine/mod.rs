//! One loop owns all sessions and makes their wants true.

mod gateway;

pub use gateway::{Follower, Gateway, GatewayError, Update};
