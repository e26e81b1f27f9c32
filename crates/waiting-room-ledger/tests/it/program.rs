//! The program: two processes and a real PostgreSQL server. Processes are killed and suspended.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::{Instant, timeout};
use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_engines::PostgresServer;
use waiting_room_ledger::{
    EscrowRules, SharedKeys, SiteId, TcpDial,
    model::{
        Admission, Incarnation, LedgerLink, LinkOptions, SiteAction, SiteLedger, Term, ToSite,
    },
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_waiting-room-ledger");
const RULES: EscrowRules = EscrowRules::new();

/// A folder with the keys of sites and of operators.
fn keys() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sites.key"), "a".repeat(64)).unwrap();
    std::fs::write(folder.path().join("operators.key"), "b".repeat(64)).unwrap();
    folder
}

/// Runs a command to its end, and returns its output, or its error. A command that does not end is
/// stopped, and its error is empty.
fn run(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("timeout").args(["20", PROGRAM]).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// A process of `serve`.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(keeper: &str, keys: &Path) -> Self {
        Self::with(keeper, keys, Stdio::null(), &[])
    }

    /// Serves its metrics on this address.
    fn measured(keeper: &str, keys: &Path, metrics: &str) -> Self {
        Self::with(keeper, keys, Stdio::null(), &["--metrics", metrics])
    }

    /// Also returns the log.
    fn logging(keeper: &str, keys: &Path) -> (ChildStderr, Self) {
        let mut process = Self::with(keeper, keys, Stdio::piped(), &[]);
        (process.child.stderr.take().unwrap(), process)
    }

    fn with(keeper: &str, keys: &Path, log: Stdio, options: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .env("NO_COLOR", "1")
            .args(["serve", "--listen", "127.0.0.1:0", "--room", "shop", "--keeper", keeper])
            .arg("--site-keys")
            .arg(keys.join("sites.key"))
            .arg("--operator-keys")
            .arg(keys.join("operators.key"))
            .args(options)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listens on ").expect(&line).to_owned();
        Self { child, address }
    }

    fn signal(&self, signal: &str) {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A site that admits as many visitors as it can.
struct Site {
    ledger: SiteLedger,
    link: LedgerLink,
    start: Instant,
    visitors: u128,
    borrowed: usize,
}

impl Site {
    fn new(number: u16, addresses: &[&Process], within: Duration) -> Self {
        let life = (SiteId::new(number), Incarnation::new(number.into()));
        let now = Timestamp::from_secs(1);
        let ledger = SiteLedger::new(life.0, life.1, RULES, now).unwrap();
        let addresses = addresses.iter().map(|process| process.address.clone());
        let keys = SharedKeys::parse(&"a".repeat(64)).unwrap();
        let options = LinkOptions::new("shop", life, &RULES, addresses, keys).within(within);
        let link = LedgerLink::connect(TcpDial::new(), options);
        Self { ledger, link, start: Instant::now(), visitors: 0, borrowed: 0 }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1) + self.start.elapsed()
    }

    /// Lets a visitor arrive. Returns whether it is admitted from a slot that the site holds.
    fn arrive(&mut self) -> bool {
        self.visitors += 1;
        let now = self.now();
        self.ledger.arrived();
        match self.ledger.admit(VisitorId::new(self.visitors), now) {
            Admission::Admit(_) => true,
            Admission::Borrow { request: Some(request), .. } => {
                self.link.send(request);
                false
            }
            _ => false,
        }
    }

    /// Waits for a message, but only for a moment, and calls `tick`. Returns the message.
    async fn turn(&mut self) -> Option<ToSite> {
        let message = timeout(Duration::from_millis(20), self.link.receive()).await.ok().flatten();
        let now = self.now();
        let mut actions = Vec::new();
        if let Some(message) = &message {
            actions.extend(self.ledger.receive(message, now));
        }
        actions.extend(self.ledger.tick(now));
        for action in actions {
            match action {
                SiteAction::Admit(_) => self.borrowed += 1,
                SiteAction::Send(message) => {
                    self.link.send(message);
                }
                _ => {}
            }
        }
        message
    }

    /// Admits visitors until the site holds no slot that is free.
    async fn use_all(&mut self) {
        while self.ledger.epoch().count() == 0 {
            self.turn().await;
        }
        while self.arrive() {}
        self.turn().await;
    }

    /// Lets visitors arrive until one is admitted to a slot that was granted for it. Returns how
    /// long that took.
    async fn until_granted(&mut self) -> Duration {
        let begin = Instant::now();
        let before = self.borrowed;
        while self.borrowed == before {
            if self.ledger.unused() == 0 || self.ledger.term() == Term::new(0) {
                self.arrive();
            } else {
                while self.arrive() {}
            }
            self.turn().await;
            assert!(begin.elapsed() < Duration::from_secs(20), "nothing is granted");
        }
        begin.elapsed()
    }
}

/// The time until a killed holder is replaced is measured in virtual time, in
/// `a_standby_grants_within_three_seconds_of_the_holders_death`.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_holder_is_replaced_and_a_suspended_one_is_silent_from_then_on() {
    let server = PostgresServer::start().unwrap();
    let keys = keys();
    let url = server.url();
    let set_up = ["set-up", "--room", "shop", "--limit", "100000", "--sites", "1,2,3"];
    let output = run(&[&set_up[..], &["--keeper", &url]].concat()).unwrap();
    assert_eq!(output, "room shop is set up: limit 100000, 3 sites\n");
    let mut first = Process::start(&url, keys.path());
    let patience = Duration::from_millis(1500);
    let mut site = Site::new(1, &[&first], patience);
    site.use_all().await;
    site.until_granted().await;
    drop(site);

    // The first process is killed. Site 3 has never been there.
    let second = Process::start(&url, keys.path());
    let mut site = Site::new(2, &[&first, &second], patience);
    site.until_granted().await;
    let term = site.ledger.term();
    first.child.kill().unwrap();
    let took = site.until_granted_by_another(term).await;
    println!("granted again {took:?} after the holder was killed");

    // The second one is suspended, while a patient link keeps its connection to it.
    let third = Process::start(&url, keys.path());
    let mut patient = Site::new(1, &[&second], Duration::from_secs(60));
    patient.until_connected().await;
    let mut site = Site::new(3, &[&second, &third], patience);
    site.until_granted().await;
    let old = site.ledger.term();
    second.signal("-STOP");
    patient.turn().await;
    let took = site.until_granted_by_another(old).await;
    println!("granted again {took:?} after the holder was suspended");
    while patient.turn().await.is_some() {}
    second.signal("-CONT");
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        patient.arrive();
        let message = patient.turn().await;
        assert_eq!(message, None, "a message of the old term {old:?}");
    }
    let ledgers = second.address.clone();
    let file = keys.path().join("operators.key");
    let status = ["status", "--room", "shop", "--wait", "0s", "--ledgers", &ledgers];
    let error = run(&[&status[..], &["--operator-keys", file.to_str().unwrap()]].concat());
    let expected = format!(
        "waiting-room-ledger: none of the addresses leads to the holder; {ledgers}: this process is a \
         standby, expected the holder\n"
    );
    assert_eq!(error.unwrap_err(), expected);
}

/// The value of a series, as an operator reads it with curl.
fn scraped(address: &str, series: &str) -> Option<f64> {
    let url = format!("http://{address}/metrics");
    let output = Command::new("curl").args(["--silent", "--fail", &url]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.map(|value| value.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_of_the_program_follow_a_site_that_connects() {
    const PREFIX: &str = "waiting_room_ledger_";
    let server = PostgresServer::start().unwrap();
    let keys = keys();
    let url = server.url();
    let set_up = ["set-up", "--room", "shop", "--limit", "200", "--sites", "1,2"];
    run(&[&set_up[..], &["--keeper", &url]].concat()).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = free.local_addr().unwrap().to_string();
    drop(free);
    let process = Process::measured(&url, keys.path(), &metrics);
    let of_room = |name: &str| scraped(&metrics, &format!("{PREFIX}{name}{{room=\"shop\"}}"));
    let end = Instant::now() + Duration::from_secs(20);
    // No site is connected.
    while of_room("holding") != Some(1.0) || of_room("sites") != Some(2.0) {
        assert!(Instant::now() < end, "the process does not hold the room");
    }
    assert_eq!(of_room("limit"), Some(200.0));
    assert_eq!(of_room("sites_connected"), Some(0.0));
    assert_eq!(of_room("held"), Some(0.0));

    let mut site = Site::new(1, &[&process], Duration::from_secs(5));
    site.until_granted().await;
    while of_room("sites_connected") != Some(1.0) || of_room("held") < Some(1.0) {
        site.turn().await;
        assert!(Instant::now() < end, "the figures do not follow");
    }
    assert!(of_room("free") < Some(200.0));
    assert!(of_room("batches_total") > Some(0.0));
    let of_site =
        |name: &str| scraped(&metrics, &format!("{PREFIX}{name}{{room=\"shop\",site=\"1\"}}"));
    assert!(of_site("messages_total") > Some(0.0));
    assert!(of_site("site_held") > Some(0.0));
    assert!(of_site("site_lease_seconds") > Some(0.0));
}

#[test]
fn the_image_and_the_unit_use_options_that_the_program_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let help = run(&["serve", "--help"]).unwrap();
    for (file, end) in [("Dockerfile", "]"), ("deploy/waiting-room-ledger.service", "Restart=")] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let (_, command) = text.split_once("serve").expect(file);
        let (command, _) = command.split_once(end).expect(file);
        let words = command.split(|c: char| c.is_whitespace() || "\",\\".contains(c));
        let options: Vec<_> = words.filter(|word| word.starts_with("--")).collect();
        assert!(options.contains(&"--metrics") && options.len() > 4, "{file}: {options:?}");
        for option in options {
            assert!(help.contains(&format!("{option} <")), "{file}: {option}");
        }
    }
}

#[test]
fn a_ledger_with_postgres_warns_of_a_lease_that_is_as_long_as_a_session() {
    let server = PostgresServer::start().unwrap();
    let keys = keys();
    let url = server.url();
    let set_up = ["set-up", "--room", "shop", "--limit", "9", "--sites", "1", "--session", "60s"];
    run(&[&set_up[..], &["--keeper", &url]].concat()).unwrap();
    let (log, mut process) = Process::logging(&url, keys.path());
    let told = BufReader::new(log)
        .lines()
        .map(|line| line.unwrap())
        .find(|line| line.contains("the rules of the room are questionable"));
    process.child.kill().unwrap();
    let told = told.expect("the program goes on");
    assert!(told.contains("WARN") && told.contains("lease is 120s, expected less than"), "{told}");
}

impl Site {
    async fn until_connected(&mut self) {
        while self.ledger.epoch().count() == 0 {
            self.turn().await;
        }
    }

    /// As `until_granted`, by a ledger of another term.
    async fn until_granted_by_another(&mut self, term: Term) -> Duration {
        let begin = Instant::now();
        while self.ledger.term() == term {
            self.turn().await;
            assert!(begin.elapsed() < Duration::from_secs(20), "nobody takes over");
        }
        self.until_granted().await;
        begin.elapsed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_arguments_are_refused_with_the_expected_ones() {
    let server = PostgresServer::start().unwrap();
    let keys = keys();
    let url = server.url();
    let sites = keys.path().join("sites.key");
    let sites = sites.to_str().unwrap();
    let set_up =
        |more: &[&str]| run(&[&["set-up", "--keeper", &url, "--room", "shop"], more].concat());
    let error = set_up(&["--limit", "9", "--sites", "1,1"]).unwrap_err();
    assert_eq!(error, "waiting-room-ledger: sites is [1, 1], expected each site only once\n");
    let error = set_up(&["--limit", "9", "--sites", "1", "--lease", "1ms"]).unwrap_err();
    let expected = "waiting-room-ledger: lease is 1ms, expected at least the heartbeat, 1s\n";
    assert_eq!(error, expected);
    let output = set_up(&["--limit", "9", "--sites", "1", "--session", "60s"]).unwrap();
    assert!(
        output.contains("lease is 120s, expected less than the session, 60s: if a site"),
        "{output}"
    );
    let rolling = ["set-up", "--keeper", &url, "--room", "shop-minute", "--rolling-minute"];
    let output = run(&[&rolling[..], &["--limit", "9", "--sites", "1"]].concat()).unwrap();
    assert_eq!(output, "room shop-minute is set up: limit 9, 1 sites\n", "no place is claimed");

    let serve = |more: &[&str]| run(&[&["serve", "--listen", "127.0.0.1:0"], more].concat());
    let error = serve(&["--keeper", &url, "--room", "shoe", "--site-keys", sites]).unwrap_err();
    let expected = "waiting-room-ledger: room is \"shoe\", expected one that was set up\n";
    assert_eq!(error, expected);
    let error = serve(&["--keeper", &url, "--room", "shop", "--site-keys", "/none"]).unwrap_err();
    assert!(error.starts_with("waiting-room-ledger: key file /none: "), "{error}");
    let both = keys.path().join("both.key");
    std::fs::write(&both, format!("{}\n{}\n", "B".repeat(64), "a".repeat(64))).unwrap();
    let both = both.to_str().unwrap();
    let shop = ["--keeper", &url, "--room", "shop", "--site-keys", sites];
    let error = serve(&[&shop[..], &["--operator-keys", both]].concat()).unwrap_err();
    let expected = format!(
        "waiting-room-ledger: key files {sites} and {both} have a key in common, expected none, \
         because sites could give the orders of operators\n"
    );
    assert_eq!(error, expected);
    let of_site = keys.path().join("of-site.key");
    std::fs::write(&of_site, format!("3 {}\n", "b".repeat(64))).unwrap();
    let of_site = of_site.to_str().unwrap();
    let error = serve(&[&shop[..], &["--operator-keys", of_site]].concat()).unwrap_err();
    let expected = format!(
        "waiting-room-ledger: key file {of_site} has a key of site 3, expected keys of operators \
         only\n"
    );
    assert_eq!(error, expected);
    let redis = ["--keeper", "redis://127.0.0.1", "--room", "shop", "--site-keys", sites];
    let error = serve(&redis).unwrap_err();
    assert!(error.starts_with("waiting-room-ledger: the URL of the keeper: "), "{error}");
}
