//! A room and its clients, from event to event.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    ConfigError, RoomRules, Timestamp, VisitorId,
    room::{Network, Recovery},
};

use super::scenarios::Group;
use crate::simulation::{Crowd, Desk, Door, Habits, Reply, Token};

/// A person or a holder.
struct Client {
    id: VisitorId,
    rng: Pcg64Mcg,
    token: Option<Token>,
    /// The pages that a person has not opened yet; `None` for a holder.
    pages: Option<u32>,
    checks_out: bool,
    group: usize,
    waits_since: Option<Timestamp>,
    waited: Duration,
    was_inside: bool,
}

/// The clients of some groups in front of a room.
pub(super) struct World {
    desk: Desk,
    crowd: Crowd,
    clients: Vec<Client>,
    queue: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// The people who have not been inside yet.
    outside: usize,
}

impl World {
    pub(super) fn new(rules: RoomRules, groups: &[Group], seed: u64) -> Result<Self, ConfigError> {
        let crowd = Crowd::new(Habits::obedient(), rules.place_retention);
        let desk = Desk::new(rules, Recovery::AdmitAtOnce)?;
        let mut world =
            Self { desk, crowd, clients: Vec::new(), queue: BinaryHeap::new(), outside: 0 };
        for (number, group) in groups.iter().enumerate() {
            (0..group.size).for_each(|member| world.add(number, group, member, seed));
        }
        Ok(world)
    }

    fn add(&mut self, number: usize, group: &Group, member: u32, seed: u64) {
        let who = self.clients.len();
        let mut rng = Pcg64Mcg::seed_from_u64(seed.wrapping_add((who as u64) << 40));
        let network = network(group, member, seed.wrapping_add(number as u64), &mut rng);
        let temper = self.crowd.temper(&mut rng);
        let [from, until] = group.arrives.map(|second| second * 1_000);
        let arrives = START + Duration::from_millis(rng.random_range(from..until));
        self.outside += usize::from(!group.holds);
        self.clients.push(Client {
            id: VisitorId::new(rng.random()).of_network(Some(network)),
            rng,
            token: None,
            pages: (!group.holds).then_some(temper.pages),
            checks_out: temper.checks_out,
            group: number,
            waits_since: Some(arrives),
            waited: Duration::ZERO,
            was_inside: false,
        });
        self.queue.push(Reverse((arrives, who)));
    }

    /// Runs until no person has anything left to do, or all people have been inside if there are
    /// holders, or for `longest`. Returns the seconds that the people of each group waited in line
    /// who were let in.
    pub(super) fn run(mut self, longest: Duration) -> Vec<Vec<f64>> {
        let has_holders = self.clients.iter().any(|client| client.pages.is_none());
        while let Some(Reverse((now, who))) = self.queue.pop() {
            if now.since(START) > longest {
                break;
            }
            if let Some(next) = self.act(who, now) {
                self.queue.push(Reverse((next, who)));
            }
            if has_holders && self.outside == 0 {
                break;
            }
        }
        let groups = self.clients.last().map_or(0, |client| client.group + 1);
        let mut waits = vec![Vec::new(); groups];
        for client in self.clients.iter().filter(|client| client.was_inside) {
            waits[client.group].push(client.waited.as_secs_f64());
        }
        waits
    }

    /// Sends a client's next request. Returns when it sends another one.
    fn act(&mut self, who: usize, now: Timestamp) -> Option<Timestamp> {
        let client = &mut self.clients[who];
        let pause = match self.desk.ask(client.token, client.id, now) {
            Reply::Admitted(pass) => {
                client.token = Some(Token::Pass(pass));
                client.waited +=
                    client.waits_since.take().map_or(Duration::ZERO, |at| now.since(at));
                let is_first = !std::mem::replace(&mut client.was_inside, true);
                let Some(pages) = &mut client.pages else {
                    return Some(pass.expires_at.min(now + RENEWS_AFTER));
                };
                self.outside -= usize::from(is_first);
                *pages -= 1;
                if *pages == 0 {
                    if client.checks_out {
                        self.desk.leave(pass.id, now);
                    }
                    return None;
                }
                return Some(now + self.crowd.think(&mut client.rng));
            }
            Reply::Refused { ticket, retry_after } => {
                client.token = ticket.map(Token::Ticket);
                retry_after.unwrap_or(Duration::from_secs(20))
            }
            Reply::Waiting { ticket, retry_after } => {
                client.token = Some(Token::Ticket(ticket));
                retry_after
            }
        };
        client.waits_since.get_or_insert(now);
        let is_person = client.pages.is_some();
        Some(now + if is_person { self.crowd.come_back(pause, &mut client.rng) } else { pause })
    }
}

/// The network of a member of a group. As in the layer, the numbers are hashes of 16 bits.
fn network(group: &Group, member: u32, seed: u64, rng: &mut Pcg64Mcg) -> Network {
    let [wides, middles, narrows] = group.networks;
    let mut number = move |rest: u32, of: u32| {
        let hash = VisitorId::new(seed.into()).draw(u64::from(rest % of.max(1)));
        if of == 0 { rng.random() } else { u16::try_from(hash >> 48).unwrap_or_default() }
    };
    let wide = number(member, wides);
    let middle = number(member / wides.max(1), middles);
    let narrow = number(member / wides.max(1) / middles.max(1), narrows);
    Network::new(
        std::num::NonZeroU16::new(wide).unwrap_or(std::num::NonZeroU16::MIN),
        middle,
        narrow,
    )
}

/// The start of every run.
const START: Timestamp = Timestamp::from_secs(1_700_000_000);
/// The time after which a holder renews its session, which lasts for 300 s.
const RENEWS_AFTER: Duration = Duration::from_secs(240);
