//! The shares of networks, on all nodes together: the number of places, and attacks by the owner of few
//! networks, with people who come while they last.

use std::{num::NonZeroU16, time::Duration};

use futures_util::future::join_all;
use redis::AsyncCommands;
use waiting_room_core::{
    Pass, Reason, RoomRules, Store, Ticket, Timestamp, Verdict, VisitorId,
    room::{Network, Renewal, Shares},
    time::{Clock, ManualClock},
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::RedisStore;

use crate::support::{admitted, manager, node_by, on_each, start};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
const NETWORKS: &str = "{wr:shop}:networks";

fn rules() -> RoomRules {
    RoomRules::new("shop", 1).session_duration(Duration::from_secs(80)).shares(Shares::Limit(2))
}

/// Starts a node, and fills its room.
async fn full(server: &EngineServer, clock: &ManualClock) -> RedisStore {
    let store = node_by(clock.clone(), server, rules()).await;
    admitted(&store, 0).await;
    store
}

fn of(network: u16, who: u128) -> VisitorId {
    VisitorId::new(who).of_network(NonZeroU16::new(network).map(|wide| Network::new(wide, 0, 0)))
}

/// Returns the verdict at the second touch of a newcomer from a network.
async fn comes(store: &RedisStore, network: u16, who: u128) -> Verdict {
    match store.enter(of(network, who)).await.unwrap() {
        Verdict::Wait { ticket, .. } => store.check_in(ticket).await.unwrap(),
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("not queued: {other:?}"),
    }
}

async fn has_place(store: &RedisStore, network: u16, who: u128) -> bool {
    let verdict = comes(store, network, who).await;
    match verdict {
        Verdict::Wait { ticket, .. } => ticket.placed,
        Verdict::Refuse { ref reason, .. } if *reason == Reason::RefusedNetworkFull => false,
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("neither: {other:?}"),
    }
}

/// Returns the number of places of the largest network.
async fn largest(store: &RedisStore) -> u32 {
    store.snapshot().await.unwrap().places_of_one_network
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_has_no_more_places_than_its_share_whichever_node_it_asks() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let here = full(&server, &clock).await;
        let there = node_by(clock.clone(), &server, rules()).await;
        assert!(has_place(&here, 7, 1).await && has_place(&there, 7, 2).await);
        for who in 3..40 {
            assert!(!has_place(&here, 7, who).await && !has_place(&there, 7, 100 + who).await);
        }
        assert!(has_place(&there, 8, 1).await && has_place(&here, 0, 1).await);
        assert_eq!(here.snapshot().await.unwrap().waiting, 4);
        assert_eq!(largest(&here).await, 2);
        // An operator's change applies on all nodes.
        there.configure(|rules| rules.shares(Shares::Off)).await.unwrap();
        assert!(has_place(&here, 7, 50).await);
        let shadow = Shares::Shadow(2);
        here.configure(|rules| rules.shares(shadow)).await.unwrap();
        let verdict = comes(&there, 7, 51).await;
        assert_eq!(*verdict.reason(), Reason::QueuedNetworkFull);
        assert_eq!(largest(&here).await, 4);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_ends_in_any_way_is_free_for_its_network() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let store = full(&server, &clock).await;
        assert!(has_place(&store, 7, 1).await && has_place(&store, 7, 2).await);
        store.leave(of(7, 2)).await.unwrap();
        assert!(has_place(&store, 7, 3).await && !has_place(&store, 7, 4).await);
        // The first visitor in line is admitted, which frees a place of its network.
        store.leave(VisitorId::new(0)).await.unwrap();
        let mut ticket = Ticket::new(of(7, 1), START, START, START);
        ticket.placed = true;
        let verdict = store.check_in(ticket).await.unwrap();
        assert!(matches!(verdict, Verdict::Admit { .. }), "{verdict:?}");
        assert!(has_place(&store, 7, 5).await && !has_place(&store, 7, 6).await);
        // More places lapse at once than one script clears.
        store.configure(|rules| rules.shares(Shares::Off)).await.unwrap();
        for who in 1_000..2_300 {
            let seen = Ticket::new(of(9, who), START, clock.now(), START);
            store.check_in(seen).await.unwrap();
        }
        assert_eq!(largest(&store).await, 1_300);
        clock.advance(Duration::from_secs(301));
        store.sweep().await.unwrap();
        assert_eq!((store.snapshot().await.unwrap().waiting, largest(&store).await), (0, 0));
        let is_counted: bool = manager(&server).await.exists(NETWORKS).await.unwrap();
        assert!(!is_counted, "no network is left over");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_count_of_networks_refuses_no_visitor_and_is_no_loss_of_passes() {
    on_each(async |engine| {
        // A key that is lost, and the number of places in the line afterwards.
        for (key, places) in [("networks", 4), ("visitors", 2), ("deadlines", 2)] {
            let server = start(engine);
            let clock = ManualClock::new(START);
            let store = node_by(clock.clone(), &server, rules()).await;
            let pass = admitted(&store, 0).await;
            assert!(has_place(&store, 7, 1).await && has_place(&store, 7, 2).await);
            clock.advance(Duration::from_secs(1));
            let () = manager(&server).await.del(format!("{{wr:shop}}:{key}")).await.unwrap();
            // The active visitor counts again, so that the room is full.
            store.renew(pass).await.unwrap();
            assert!(has_place(&store, 7, 3).await && has_place(&store, 7, 4).await, "{key}");
            assert!(!has_place(&store, 7, 5).await, "{key}");
            assert_eq!(store.snapshot().await.unwrap().waiting, places, "{key}");
            let is_believed = store.remembers_since() == START;
            assert_eq!(is_believed, key == "networks", "{key}");
            // All visitors leave, whether or not their places are counted.
            for who in 1..=5 {
                store.leave(of(7, who)).await.unwrap();
            }
            assert_eq!(largest(&store).await, 0, "{key}");
            assert!(has_place(&store, 7, 11).await && has_place(&store, 7, 12).await, "{key}");
            assert!(!has_place(&store, 7, 13).await, "{key}");
        }
    })
    .await;
}

/// A client that comes back with its ticket when it is due, and with its pass before that expires.
struct Client {
    id: VisitorId,
    ticket: Option<Ticket>,
    pass: Option<Pass>,
    due: u64,
    was_inside: bool,
}

impl Client {
    fn new([wide, middle, narrow]: [u16; 3], who: u128, due: u64) -> Self {
        let network = NonZeroU16::new(wide).map(|wide| Network::new(wide, middle, narrow));
        let id = VisitorId::new(who << 112 | who).of_network(network);
        Self { id, ticket: None, pass: None, due, was_inside: false }
    }

    async fn act(&mut self, store: &RedisStore, now: u64) {
        if let Some(pass) = self.pass.take()
            && let Renewal::Renew(pass) = store.renew(pass).await.unwrap()
        {
            self.holds(pass, now);
            return;
        }
        let verdict = match self.ticket.take() {
            Some(ticket) => store.check_in(ticket).await.unwrap(),
            None => store.enter(self.id).await.unwrap(),
        };
        match verdict {
            Verdict::Admit { pass, .. } => self.holds(pass, now),
            Verdict::Refuse { ticket, retry_after, .. } => {
                self.ticket = ticket;
                self.due = now + retry_after.map_or(5, |wait| wait.as_secs());
            }
            Verdict::Wait { ticket, .. } => {
                self.due = now + ticket.retry_after(store.now()).as_secs();
                self.ticket = Some(ticket);
            }
        }
    }

    fn holds(&mut self, pass: Pass, now: u64) {
        self.was_inside = true;
        let lasts = pass.expires_at.since(START).as_secs() - now;
        self.pass = Some(pass);
        self.due = now + lasts.saturating_sub(1).clamp(1, 80);
    }
}

/// Lets an attacker with these clients act, and 20 people who come after 150 s, each from a network of
/// its own. Returns the number of people who were let in within `people_wait` seconds.
async fn strike(
    server: &EngineServer,
    rules: RoomRules,
    mut clients: Vec<Client>,
    people_wait: u64,
) -> usize {
    let clock = ManualClock::new(START);
    let rules = rules.session_duration(Duration::from_secs(100));
    let store = node_by(clock.clone(), server, rules).await;
    let bots = clients.len();
    clients.extend((0..20).map(|who| Client::new([1_000 + who, 0, 0], who.into(), 150)));
    for now in 1..150 + people_wait {
        clock.advance(Duration::from_secs(1));
        let due = clients.iter_mut().filter(|client| client.due <= now);
        join_all(due.map(|client| client.act(&store, now))).await;
    }
    clients[bots..].iter().filter(|person| person.was_inside).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attacker_with_few_networks_or_many_yields_to_people() {
    let readme = |name: &str| RoomRules::new(name, 40);
    on_each(async |engine| {
        let server = start(engine);
        let address = || (0..120).map(|who| Client::new([7, 0, 0], who, 0)).collect();
        let off = readme("off").shares(Shares::Off).longest_visit(None);
        assert_eq!(strike(&server, off, address(), 250).await, 0, "{engine}: without shares");
        assert_eq!(strike(&server, readme("address"), address(), 250).await, 20, "{engine}");

        let bots = (0..240u16).map(|who| Client::new([7, 1, who % 25], who.into(), 0)).collect();
        let net = readme("net").line_capacity(400);
        assert_eq!(strike(&server, net, bots, 300).await, 20, "{engine}: a /48");

        let bots = (0..40u16).map(|who| Client::new([who + 1, 0, 0], who.into(), 0)).collect();
        let many = readme("many").longest_visit(Duration::from_secs(300));
        assert_eq!(strike(&server, many, bots, 300).await, 20, "{engine}: many networks");
    })
    .await;
}
