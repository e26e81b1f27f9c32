//! A site: its room on Redis or Valkey, with an allowance of the slots that all sites share, or with
//! counters.
//!
//! | file | role |
//! |---|---|
//! | `store.rs` | [`SiteStore`]: the verbs, and the visitors that wait for a slot from elsewhere |
//! | `agent.rs` | reports to the room, and carries messages if no other node does |
//! | `channel.rs` | the link between one account of the room and the global ledger of its limit |
//! | `counting.rs` | the slots of the minute at a site that counts, and what it reports |
//! | `state.rs` | what the verbs and the agent of a node share |
//! | `judge.rs` | the clock of the machine, by which leases are judged |
//! | `messages.rs` | the messages as numbers for the scripts, and as the ledgers know them |

mod agent;
mod channel;
mod counting;
mod judge;
mod messages;
mod options;
mod state;
mod store;

#[cfg(test)]
mod tests;

pub use self::{
    options::{Policy, SiteOptions},
    store::SiteStore,
};
