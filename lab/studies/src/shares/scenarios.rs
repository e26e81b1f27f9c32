//! The crowds and the attacks.

use std::time::Duration;

use waiting_room_core::{RoomRules, room::Shares};

/// Clients that come from networks of the same kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) size: u32,
    /// The number of wide networks, of middle ones in each of them, and of narrow ones in each of
    /// these. With 0, each client is in a random one.
    pub(super) networks: [u32; 3],
    /// The seconds within which they arrive.
    pub(super) arrives: [u64; 2],
    pub(super) holds: bool,
}

/// People who come to the room. The last group is the network in question.
pub(super) struct Crowd {
    pub(super) name: &'static str,
    pub(super) groups: &'static [Group],
    /// Whether shares may delay neither the crowd nor the network by more than 5 %.
    pub(super) has_bar: bool,
}

/// Holders, and how soon the 20 people who come after ten minutes have to be inside, in minutes, if
/// shares can do anything about them.
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) holders: Group,
    pub(super) within: Option<f64>,
}

/// The rules of a run: shares or none, and the longest visit.
pub(super) type Mode = (Shares, Option<Duration>);

/// README's room.
pub(super) fn rules((shares, longest_visit): Mode) -> RoomRules {
    RoomRules::new("shop", 200)
        .new_users_per_minute(200)
        .session_duration(Duration::from_secs(300))
        .refresh_interval(CHECKS_IN_AFTER)
        .shares(shares)
        .longest_visit(longest_visit)
}

const fn people(size: u32, networks: [u32; 3], arrives: [u64; 2]) -> Group {
    Group { size, networks, arrives, holds: false }
}

const fn holders(size: u32, networks: [u32; 3]) -> Group {
    Group { size, networks, arrives: [0, 300], holds: true }
}

/// The longest interval between check-ins, with which days are simulated in seconds. With the default
/// of 20 s, crowds wait equally long.
const CHECKS_IN_AFTER: Duration = Duration::from_secs(150);
/// The time within which a crowd arrives, in seconds.
const RUSH: [u64; 2] = [0, 600];
const ANYWHERE: [u32; 3] = [0, 0, 0];

pub(super) const CROWDS: [Crowd; 7] = [
    Crowd {
        name: "a school of 300 behind one IPv4, in a crowd of 10 000",
        groups: &[people(9_700, ANYWHERE, RUSH), people(300, [1, 1, 1], RUSH)],
        has_bar: true,
    },
    Crowd {
        name: "the same, and the school arrives within one minute",
        groups: &[people(9_700, ANYWHERE, RUSH), people(300, [1, 1, 1], [300, 360])],
        has_bar: true,
    },
    Crowd {
        name: "a carrier with 40 % of 10 000 in one /16",
        groups: &[people(6_000, ANYWHERE, RUSH), people(4_000, [1, 16, 8], RUSH)],
        has_bar: true,
    },
    Crowd {
        name: "10 000 phones on IPv6, 45 % of one carrier",
        groups: &[
            people(3_500, [1, 64, 0], RUSH),
            people(2_000, [1, 64, 0], RUSH),
            people(4_500, [1, 64, 0], RUSH),
        ],
        has_bar: true,
    },
    Crowd {
        name: "a carrier with 60 % of 10 000 in one /16",
        groups: &[people(4_000, ANYWHERE, RUSH), people(6_000, [1, 16, 8], RUSH)],
        has_bar: false,
    },
    Crowd {
        name: "a school of 300 among 600 others",
        groups: &[people(600, ANYWHERE, [0, 60]), people(300, [1, 1, 1], [0, 60])],
        has_bar: true,
    },
    Crowd {
        name: "a school of 300 among 300 others",
        groups: &[people(300, ANYWHERE, [0, 60]), people(300, [1, 1, 1], [0, 60])],
        has_bar: false,
    },
];

/// The people who come while holders have the room.
pub(super) const VICTIMS: Group = people(20, ANYWHERE, [600, 660]);

/// Holders have as many places as shares allow their networks, and all slots.
pub(super) const ATTACKS: [Attack; 6] = [
    Attack { name: "one address", holders: holders(600, [1, 1, 1]), within: Some(10.0) },
    Attack { name: "one IPv6 /48", holders: holders(12_700, [1, 1, 0]), within: Some(20.0) },
    Attack { name: "four addresses", holders: holders(1_800, [4, 1, 1]), within: None },
    Attack { name: "eight addresses", holders: holders(3_400, [8, 1, 1]), within: None },
    Attack { name: "two /48", holders: holders(25_200, [2, 1, 0]), within: None },
    Attack {
        name: "10 000 residential addresses",
        holders: holders(10_000, ANYWHERE),
        within: None,
    },
];
