//! An unreliable network.

use std::collections::BTreeSet;

use waiting_room_core::Timestamp;
use waiting_room_ledger::{
    SiteId,
    model::{ToGlobal, ToSite},
};

/// The messages under way.
///
/// A message stays here when it is delivered, so it may arrive again at any time, and no message
/// has to be delivered. If there are too many, the oldest ones are lost for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    pub(crate) up: BTreeSet<(Timestamp, ToGlobal)>,
    pub(crate) down: BTreeSet<(Timestamp, SiteId, ToSite)>,
}

impl Network {
    pub(crate) fn send_up(&mut self, message: impl Into<Option<ToGlobal>>) {
        self.up.extend(message.into().map(|message| (sent_at(&message), message)));
    }

    /// Loses the oldest messages, so that at most `most` are left in each direction.
    pub(crate) fn forget(&mut self, most: usize) {
        while self.up.len() > most {
            self.up.pop_first();
        }
        while self.down.len() > most {
            self.down.pop_first();
        }
    }
}

fn sent_at(message: &ToGlobal) -> Timestamp {
    match message {
        ToGlobal::Claim { heartbeat, .. } | ToGlobal::Heartbeat(heartbeat) => heartbeat.sent_at,
        ToGlobal::Join(join) => join.sent_at,
        _ => unreachable!("there are no other messages"),
    }
}
