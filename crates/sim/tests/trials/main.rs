//! What takes thousands of seeds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod sabotage;
