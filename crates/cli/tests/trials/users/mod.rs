//! Users: many who ask at once, and what lasts through restarts.

mod flood;
mod lasting;
