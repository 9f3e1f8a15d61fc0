//! One test binary.

mod driver;
