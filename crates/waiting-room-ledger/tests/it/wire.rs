//! Links of sites and operators to a ledger, in virtual time.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use waiting_room_core::Timestamp;
use waiting_room_ledger::{
    EscrowRules, SharedKeys, SiteId,
    model::{
        Holder, HolderTimes, Incarnation, JoinRefused, KeeperFault, LedgerKeeper as _, LedgerLink,
        LedgerServer, LinkOptions, LinkState, MemoryKeeper, OperatorLink, Order, Role, ServerKeys,
        SiteAction, SiteLedger, Term,
    },
};

use crate::{
    logged::Logged,
    net::{Cut, Net, NetDial},
};

const SITE: SiteId = SiteId::new(1);
const RULES: EscrowRules = EscrowRules::new();

fn keys(digit: &str) -> SharedKeys {
    SharedKeys::parse(&digit.repeat(64)).unwrap()
}

/// A ledger at the address `ledger`, which holds the room `shop` of one site.
async fn ledger(net: &Net) -> MemoryKeeper {
    let keeper = MemoryKeeper::new(10, [SITE], RULES);
    let (holder, mut handle) = Holder::new("shop", keeper.clone(), HolderTimes::default());
    tokio::spawn(holder.run(std::future::pending()));
    let keys = ServerKeys::new(keys("a")).operators(keys("b"));
    assert_eq!(handle.role(), Role::Standby);
    net.listen("ledger", LedgerServer::new([("shop".to_owned(), handle.clone())], keys));
    assert_eq!(handle.holding().await, Some(Term::new(1)));
    keeper
}

fn link(dial: NetDial, room: &str, site: SiteId, keys: SharedKeys) -> LedgerLink {
    let addresses = ["ledger".to_owned()];
    let options = LinkOptions::new(room, (site, Incarnation::new(7)), &RULES, addresses, keys);
    LedgerLink::connect(dial, options)
}

/// The first reason for which a link has no stream.
async fn reason(link: &LedgerLink) -> String {
    let mut state = link.state();
    state.changed().await.unwrap();
    match state.borrow().clone() {
        LinkState::Disconnected { reason } => reason,
        state => panic!("{state:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_with_another_key_or_room_learns_the_reason() {
    let net = Net::default();
    ledger(&net).await;
    let refused = link(net.client(), "shop", SITE, keys("c"));
    assert_eq!(reason(&refused).await, "ledger: the key is not one of this ledger");
    let refused = link(net.client(), "shoe", SITE, keys("a"));
    let expected = "ledger: room is \"shoe\", expected one of [\"shop\"]";
    assert_eq!(reason(&refused).await, expected);
}

/// A site with its link, and with its own time.
struct Site {
    ledger: SiteLedger,
    link: LedgerLink,
    now: Timestamp,
    warned: Vec<JoinRefused>,
    messages: usize,
}

impl Site {
    fn new(net: &Net, number: u16, rules: EscrowRules) -> Self {
        let site = SiteId::new(number);
        let now = Timestamp::from_secs(1);
        let ledger = SiteLedger::new(site, Incarnation::new(7), rules, now).unwrap();
        let link = link(net.client(), "shop", site, keys("a"));
        Self { ledger, link, now, warned: Vec::new(), messages: 0 }
    }

    async fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            sleep(Duration::from_millis(100)).await;
            self.now = self.now + Duration::from_millis(100);
            let mut actions = self.ledger.tick(self.now);
            while let Ok(Some(message)) = timeout(Duration::ZERO, self.link.receive()).await {
                self.messages += 1;
                actions.extend(self.ledger.receive(&message, self.now));
            }
            for action in actions {
                match action {
                    SiteAction::Send(message) => {
                        self.link.send(message);
                    }
                    SiteAction::Warn(refused) => self.warned.push(refused),
                    _ => {}
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_site_that_is_unknown_or_has_other_rules_is_notified_once() {
    let net = Net::default();
    ledger(&net).await;
    let mut unknown = Site::new(&net, 9, RULES);
    unknown.run(Duration::from_secs(10)).await;
    let expected = "site 9 is not on the list of the global ledger";
    assert_eq!(unknown.warned.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    let mut other = Site::new(&net, 1, RULES.session(Duration::from_secs(60)));
    other.run(Duration::from_secs(10)).await;
    let expected = "session is 60s at the site and 300s in the global ledger";
    assert_eq!(other.warned.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_site_costs_one_message_in_an_eighth_of_its_lease() {
    let net = Net::default();
    ledger(&net).await;
    let mut site = Site::new(&net, 1, RULES);
    site.run(Duration::from_secs(20)).await;
    let before = site.messages;
    site.run(Duration::from_secs(600)).await;
    let answers = site.messages - before;
    assert!((38..=45).contains(&answers), "{answers} answers in 600 s");
    assert!(site.ledger.lease_end() > site.now + Duration::from_secs(100));
}

#[tokio::test(start_paused = true)]
async fn a_link_that_was_cut_connects_again() {
    for cut in [
        Cut { from_ledger: true, to_ledger: true },
        Cut { from_ledger: true, to_ledger: false },
        Cut { from_ledger: false, to_ledger: true },
    ] {
        let net = Net::default();
        ledger(&net).await;
        let dial = net.client();
        let link = link(dial.clone(), "shop", SITE, keys("a"));
        let mut state = link.state();
        let is_connected = |state: &LinkState| matches!(state, LinkState::Connected { .. });
        state.wait_for(is_connected).await.unwrap();
        dial.cut(cut);
        let lost = state.wait_for(|state| !is_connected(state));
        timeout(Duration::from_secs(8), lost).await.expect("the cut is noticed").unwrap();
        dial.cut(Cut::default());
        let again = state.wait_for(is_connected);
        timeout(Duration::from_secs(2), again).await.expect("it is healed").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_site_logs_each_new_term_once_and_the_address_at_which_it_was_heard() {
    let (logged, _guard) = Logged::begin();
    let net = Net::default();
    let mut keeper = ledger(&net).await;
    let mut site = Site::new(&net, 1, RULES);
    site.run(Duration::from_secs(20)).await;
    let terms = || logged.with("INFO the global ledger has a new term");
    let first = "INFO the global ledger has a new term room=shop site=1 term=1 address=ledger";
    assert_eq!(terms(), [first]);
    // Another process takes over and is killed, so the holder takes over again.
    let seen = keeper.watch().await.unwrap();
    keeper.take_over(seen, Term::default()).await.unwrap().unwrap();
    site.run(Duration::from_secs(20)).await;
    assert_eq!(terms(), [first.to_owned(), first.replace("term=1", "term=3")]);
}

#[tokio::test(start_paused = true)]
async fn an_order_is_stored_before_it_is_confirmed() {
    let net = Net::default();
    let keeper = ledger(&net).await;
    let addresses = ["nowhere".to_owned(), "ledger".to_owned()];
    let link = OperatorLink::new(net.client(), addresses.clone(), "shop", keys("b"));
    assert_eq!(link.order(Order::SetLimit(77)).await.unwrap(), "stored\n");
    assert_eq!(keeper.kept().limit, 77);
    let status = link.order(Order::Status).await.unwrap();
    assert!(status.starts_with("term 1, limit 77, held 0, free 77\n"), "{status}");
    let error = link.order(Order::Remove(SITE)).await.unwrap_err();
    assert_eq!(error.to_string(), "site 1 is the only site");
    keeper.set_fault(KeeperFault::Unavailable);
    let error = link.order(Order::SetLimit(78)).await.unwrap_err();
    let expected = "the keeper has not acknowledged the change in time: look at the status";
    assert_eq!(error.to_string(), expected);
    let stranger = OperatorLink::new(net.client(), addresses, "shop", keys("a"));
    let error = stranger.order(Order::Status).await.unwrap_err().to_string();
    assert!(error.ends_with("ledger: the key is not one of this ledger"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_holder_without_handles_goes_on() {
    let keeper = MemoryKeeper::new(10, [SITE], RULES);
    let (holder, mut handle) = Holder::new("shop", keeper.clone(), HolderTimes::default());
    tokio::spawn(holder.run(std::future::pending()));
    handle.holding().await.unwrap();
    drop(handle);
    let mut watcher = keeper.clone();
    let before = watcher.watch().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_ne!(watcher.watch().await.unwrap(), before);
}
