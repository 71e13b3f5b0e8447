//! Code that the measuring programs share: one thread, epoll and no more work per message than it
//! takes, so that what is measured is the bus between them.

pub mod chunk;
pub mod histogram;
pub mod inbox;
pub mod load;
pub mod outbox;
pub mod peer;
pub mod report;
pub mod request;
pub mod switch_load;
pub mod usage;
