//! Late attempts at writes and wrong clocks: processes that are stopped with requests in their
//! sockets, and nodes whose clocks are far off.

mod clock;
mod late;
mod mend;
