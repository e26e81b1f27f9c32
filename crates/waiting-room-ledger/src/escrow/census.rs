//! The state of a world whose sites count instead of holding slots, as the global ledger knows it.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use waiting_room_core::Timestamp;

use crate::{
    SiteId,
    escrow::{Draw, EscrowRules, GlobalLedger, Incarnation, Tally, Term, Tickets, ToSite, World},
    slots::{CounterRequest, Minute, Pool, TicketCounter},
};

/// Counts the visitors of the world for sites under `Policy::Counters`: makes the snapshots by
/// which all these sites decide, and keeps Anywhere's counter.
///
/// The census grants nothing, and none of its state is stored. `now` is the time by the calendar of
/// the global ledger. Minutes begin at the same time everywhere only to the extent that the sites'
/// clocks agree with that calendar. Times never run backwards.
///
/// When a ledger begins, it knows nothing about the world. It makes no snapshot until each site on
/// the list has reported, or the passes of the silent sites are void. Meanwhile, sites continue
/// with the snapshot that they have.
///
/// # What it does not promise
///
/// The limit may be exceeded. A snapshot does not contain the visitors who were admitted after it
/// was made. A ledger that replaces a lost one hands out Anywhere's slots of the current minute
/// again. A site whose clock is wrong uses the wrong minute.
#[derive(Debug)]
pub struct Census {
    sites: BTreeMap<SiteId, Counted>,
    anywhere: TicketCounter,
    world: Option<World>,
    /// The number of snapshots that were made in this term.
    made: u32,
    /// The time at which a site that has not reported has no visitors left.
    learning_until: Timestamp,
    /// The time for which the visitors of a silent site may have valid passes.
    session: Duration,
    /// The shortest time between two snapshots.
    heartbeat: Duration,
}

/// The last report of a site.
#[derive(Clone, Copy, Debug)]
struct Counted {
    incarnation: Incarnation,
    /// The time at which the last report was received.
    heard: Timestamp,
    /// The time at which that report was sent, by the site's clock.
    sent_at: Timestamp,
    active: u32,
    /// The last whole minutes that were reported, the newer one first.
    minutes: [(Minute, u32); 2],
    /// The tickets that were drawn for the site, and their minute.
    drawn: (Minute, u32),
}

impl Census {
    /// The maximum number of tickets drawn for one message. A site that wants more asks again.
    pub const MAX_DRAWN_AT_ONCE: u32 = 1024;

    /// For this time after the end of a minute, the traffic of the preceding minute is used, unless
    /// all sites have reported.
    const LATE: Duration = Duration::from_secs(5);

    /// Creates the census of a ledger that begins now.
    #[must_use]
    pub fn new(rules: &EscrowRules, now: Timestamp) -> Self {
        let [(_, session), _, (_, margin), (_, heartbeat), _] = rules.times();
        let session = session + margin;
        Self {
            sites: BTreeMap::new(),
            anywhere: TicketCounter::new(),
            world: None,
            made: 0,
            learning_until: now + session,
            session,
            heartbeat,
        }
    }

    /// Handles the report of a site that `ledger` has not refused, and returns the answers.
    pub fn receive(&mut self, tally: &Tally, ledger: &GlobalLedger, now: Timestamp) -> Vec<ToSite> {
        self.record(tally, now);
        self.publish(ledger, now);
        let tickets = self.draw(tally.site, tally.draw, ledger.term(), now);
        let news = self.world.as_ref().filter(|world| world.version > tally.knows);
        let news = news.cloned().map(ToSite::World);
        news.into_iter().chain(tickets.map(ToSite::Tickets)).collect()
    }

    /// Returns whether visitors of sites that count may be active. While such visitors may be
    /// active, no site gets an account of slots.
    #[must_use]
    pub fn is_in_use(&self, now: Timestamp) -> bool {
        self.sites.values().any(|site| now.since(site.heard) < self.session)
    }

    /// The newest snapshot, if there is one.
    #[must_use]
    pub const fn world(&self) -> Option<&World> {
        self.world.as_ref()
    }

    /// The number of sites that have reported lately, and the number of their active visitors.
    #[must_use]
    pub fn counted(&self, now: Timestamp) -> (usize, u64) {
        let sites = self.sites.values().filter(|site| now.since(site.heard) < self.session);
        sites.fold((0, 0), |(sites, active), site| (sites + 1, active + u64::from(site.active)))
    }

    /// Records a report, unless a newer report from the same life of the site is known.
    fn record(&mut self, tally: &Tally, now: Timestamp) {
        let none = (Minute::new(0), 0);
        let begun = Counted {
            incarnation: tally.incarnation,
            heard: now,
            sent_at: tally.sent_at,
            active: tally.active,
            minutes: [(tally.minute, tally.admitted), none],
            drawn: none,
        };
        let known = self.sites.get_mut(&tally.site);
        let Some(site) = known.filter(|site| site.incarnation == tally.incarnation) else {
            self.sites.insert(tally.site, begun);
            return;
        };
        if tally.sent_at < site.sent_at {
            return;
        }
        if tally.minute > site.minutes[0].0 {
            site.minutes[1] = site.minutes[0];
        }
        site.minutes[0] = (tally.minute, tally.admitted);
        site.heard = now;
        site.sent_at = tally.sent_at;
        site.active = tally.active;
    }

    /// Makes a snapshot if the last one is older than a heartbeat.
    fn publish(&mut self, ledger: &GlobalLedger, now: Timestamp) {
        let last = self.world.as_ref();
        if last.is_some_and(|world| now.since(world.made_at) < self.heartbeat) {
            return;
        }
        let session = self.session;
        self.sites
            .retain(|&site, counted| ledger.lists(site) && now.since(counted.heard) < session);
        let is_known = |site: SiteId| self.sites.contains_key(&site);
        if now < self.learning_until && !ledger.sites().all(is_known) {
            return;
        }
        self.learning_until = now;
        self.made = self.made.saturating_add(1);
        let active =
            self.sites.values().fold(0_u32, |sum, counted| sum.saturating_add(counted.active));
        let minute = self.whole_minute(now);
        self.world = Some(World {
            term: ledger.term(),
            version: version(ledger.term(), self.made),
            made_at: now,
            limit: u32::try_from(ledger.limit()).unwrap_or(u32::MAX),
            active,
            minute,
            traffic: self.traffic(minute),
        });
    }

    /// The newest minute whose traffic is known: the last minute, or the minute before it while the
    /// reports of some sites are late.
    fn whole_minute(&self, now: Timestamp) -> Minute {
        let last = Minute::of(now).previous();
        let is_complete = self.sites.values().all(|site| site.minutes[0].0 >= last);
        let is_late = now.since(last.end()) >= Self::LATE;
        if is_complete || is_late { last } else { last.previous() }
    }

    /// The traffic of the busiest sites in a minute, in the order of the sites.
    fn traffic(&self, minute: Minute) -> Vec<(SiteId, u32)> {
        let count =
            |site: &Counted| site.minutes.iter().find(|(other, _)| *other == minute).copied();
        let counts = self.sites.iter().filter_map(|(&id, site)| Some((id, count(site)?.1)));
        let mut traffic: Vec<_> = counts.filter(|(_, visitors)| *visitors > 0).collect();
        if traffic.len() > World::MAX_SITES {
            traffic.sort_by_key(|(id, visitors)| (Reverse(*visitors), *id));
            traffic.truncate(World::MAX_SITES);
            traffic.sort_unstable();
        }
        traffic
    }

    /// Draws the tickets that a site wants. Both sides count totals, so the site asks again if an
    /// answer is lost, and gets no ticket twice.
    fn draw(&mut self, id: SiteId, draw: Draw, term: Term, now: Timestamp) -> Option<Tickets> {
        // `publish` may have removed a site that is no longer on the list.
        let site = self.sites.get_mut(&id)?;
        if draw.total == 0 || draw.minute < site.drawn.0 || draw.minute > Minute::of(now).next() {
            return None;
        }
        if draw.minute > site.drawn.0 {
            site.drawn = (draw.minute, 0);
        }
        let Draw { minute, slots, knows_world, .. } = draw;
        let request =
            CounterRequest { pool: Pool::Anywhere, minute, slots, knows_world, open: slots };
        let most = draw.total.min(site.drawn.1.saturating_add(Self::MAX_DRAWN_AT_ONCE));
        let mut is_dry = false;
        while site.drawn.1 < most {
            let reply = self.anywhere.take(&request, now);
            if !reply.admits(&request) {
                is_dry = reply.is_dry();
                break;
            }
            site.drawn.1 += 1;
        }
        let incarnation = site.incarnation;
        let total = site.drawn.1;
        Some(Tickets { term, incarnation, minute, total, is_dry })
    }
}

/// A version that is higher than every version of an earlier term, or of an earlier snapshot in
/// this term.
fn version(term: Term, made: u32) -> u64 {
    u64::from(term.number()) << 32 | u64::from(made)
}
