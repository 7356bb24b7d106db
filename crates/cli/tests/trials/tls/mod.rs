//! TLS while nodes come and go.

mod serving;
