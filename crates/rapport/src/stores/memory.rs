//! Sessions in memory, for tests.
