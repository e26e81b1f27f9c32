//! The metrics of the ledger: their table, and each alert on them.

use std::{io, sync::Arc, time::Duration};

use metrics::with_local_recorder;
use tokio::{
    io::DuplexStream,
    runtime::{Builder, Runtime},
    time::{Instant, timeout},
};
use waiting_room_core::Timestamp;
use waiting_room_ledger::{
    Dial, EscrowRules, SharedKeys, SiteId,
    model::{
        Holder, HolderTimes, Incarnation, KeeperFault, LedgerLink, LedgerServer, LinkOptions,
        MemoryKeeper, ServerKeys, SiteAction, SiteLedger,
    },
};

use crate::{scene::Scraped, table::Told};

/// A process of the ledger in virtual time, with sites 1 and 2 on its list.
struct Process {
    keeper: MemoryKeeper,
    server: Arc<LedgerServer>,
    runtime: Runtime,
}

/// A network with only this server.
#[derive(Clone)]
struct Near(Arc<LedgerServer>);

impl Dial for Near {
    type Io = DuplexStream;

    async fn dial(&self, _: &str) -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(65_536);
        tokio::spawn(Arc::clone(&self.0).serve(far, "192.0.2.1:40000".to_owned()));
        Ok(near)
    }
}

fn keys(digit: char) -> SharedKeys {
    SharedKeys::parse(&digit.to_string().repeat(64)).unwrap()
}

impl Process {
    /// Starts the process after something has happened to its keeper.
    fn after(trouble: impl FnOnce(&MemoryKeeper)) -> Self {
        let keeper = MemoryKeeper::new(200, [1, 2].map(SiteId::new), EscrowRules::new());
        trouble(&keeper);
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.unwrap();
        let (holder, handle) = Holder::new("shop", keeper.clone(), HolderTimes::default());
        let server = LedgerServer::new([("shop".into(), handle)], ServerKeys::new(keys('a')));
        runtime.spawn(holder.run(std::future::pending()));
        Self { keeper, server, runtime }
    }

    /// Starts a site, which has a key of the ledger or not.
    fn start(&self, number: u16, digit: char) {
        let life = (SiteId::new(number), Incarnation::new(number.into()));
        let rules = EscrowRules::new();
        let options = LinkOptions::new("shop", life, &rules, ["ledger".into()], keys(digit));
        let near = Near(Arc::clone(&self.server));
        self.runtime.spawn(async move {
            let begin = Instant::now();
            let now = || Timestamp::from_secs(1) + begin.elapsed();
            let mut site = SiteLedger::new(life.0, life.1, rules, now()).unwrap();
            let mut link = LedgerLink::connect(near, options);
            loop {
                let message = timeout(Duration::from_millis(200), link.receive()).await;
                let mut actions = site.tick(now());
                if let Ok(Some(message)) = message {
                    actions.extend(site.receive(&message, now()));
                }
                for action in actions {
                    if let SiteAction::Send(message) = action {
                        link.send(message);
                    }
                }
            }
        });
    }

    fn pass(&self, minute: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(minute).await });
    }
}

/// A process whose metrics are scraped once a minute.
struct Scene {
    process: Process,
    scraped: Scraped,
}

impl Scene {
    fn after(trouble: impl FnOnce(&MemoryKeeper)) -> Self {
        let scraped = Scraped::new();
        let process = with_local_recorder(&scraped.recorder, || Process::after(trouble));
        Self { process, scraped }
    }

    fn with_sites(sites: &[u16]) -> Self {
        let scene = Self::after(|_| {});
        sites.iter().for_each(|site| scene.process.start(*site, 'a'));
        scene
    }

    fn play(&mut self, minutes: usize) -> &Scraped {
        for _ in 0..minutes {
            with_local_recorder(&self.scraped.recorder, || {
                self.process.pass(Duration::from_secs(60));
            });
            self.scraped.scrape();
        }
        &self.scraped
    }
}

#[test]
fn the_table_of_the_ledger_matches_its_recorder_and_every_metric_is_observed() {
    let told = Told::default();
    with_local_recorder(&told, || {
        let process = Process::after(|_| {});
        for (site, digit) in [(1, 'a'), (2, 'b'), (3, 'a')] {
            process.start(site, digit);
        }
        process.pass(Duration::from_secs(60));
        process.keeper.set_fault(KeeperFault::Unavailable);
        process.pass(Duration::from_secs(60));
    });
    told.assert_documented("metrics of a ledger");
}

#[test]
fn a_ledger_whose_sites_are_connected_sets_off_no_alert() {
    Scene::with_sites(&[1, 2]).play(20).assert_quiet();
}

#[test]
fn a_process_that_never_holds_the_room_sets_off_no_holder() {
    let mut scene = Scene::after(|keeper| keeper.set_fault(KeeperFault::Unavailable));
    scene.play(6).assert_fires("WaitingRoomLedgerNoHolder");
}

#[test]
fn a_keeper_that_does_not_answer_sets_off_keeper_fails() {
    let mut scene = Scene::with_sites(&[1, 2]);
    scene.play(3);
    scene.process.keeper.set_fault(KeeperFault::Unavailable);
    scene.play(6).assert_fires("WaitingRoomLedgerKeeperFails");
}

#[test]
fn a_listed_site_without_a_stream_sets_off_site_away() {
    Scene::with_sites(&[1]).play(6).assert_fires("WaitingRoomLedgerSiteAway");
}

#[test]
fn a_recovery_that_waits_for_a_site_sets_off_learning() {
    let mut scene = Scene::after(MemoryKeeper::lose);
    scene.process.start(1, 'a');
    scene.play(6).assert_fires("WaitingRoomLedgerLearning");
}

#[test]
fn a_site_that_is_not_on_the_list_sets_off_refuses_site() {
    Scene::with_sites(&[1, 2, 3]).play(9).assert_fires("WaitingRoomLedgerRefusesSite");
}

#[test]
fn a_site_with_another_key_sets_off_refuses_streams() {
    let mut scene = Scene::with_sites(&[1]);
    scene.process.start(2, 'b');
    scene.play(9).assert_fires("WaitingRoomLedgerRefusesStreams");
}
