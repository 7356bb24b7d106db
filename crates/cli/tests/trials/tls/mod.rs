//! TLS with clients that are silent, slow, mistaken or too many.

mod serving;
