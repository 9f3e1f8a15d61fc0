//! The scripted agent.
