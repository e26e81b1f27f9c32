//! The fragments of the guide that configure other programs: nginx, clients of gRPC, and Kubernetes.

use std::{
    collections::BTreeSet, fmt::Write, fs, net::SocketAddr, path::Path, process::Stdio,
    time::Duration,
};

use axum::{Router, routing::get};
use http::StatusCode;
use tempfile::TempDir;
use tests::{Block, Process, Program, Visitor, installed, pages, until, workspace};
use tokio::{net::TcpListener, process::Command};
use tower_waiting_room::{
    ClientIp, Quota, RateLimit, TrustedProxies, WaitingRoomConfig, WaitingRoomLayer,
};

use crate::grpc::serve;

/// Returns all blocks of the guide in this language.
fn blocks(language: &str) -> Vec<String> {
    let texts = pages("docs/guide").into_iter().map(|page| fs::read_to_string(page).unwrap());
    let blocks = texts.flat_map(|text| Block::all(&text));
    let blocks = blocks.filter(|block| block.language == language).map(|block| block.text);
    let blocks: Vec<_> = blocks.collect();
    assert!(!blocks.is_empty(), "the guide has no block in {language}");
    blocks
}

#[tokio::test]
pub(super) async fn nginx_passes_on_addresses_that_no_client_can_forge() {
    let upstream = upstream();
    for fragment in blocks("nginx") {
        let nginx = Nginx::start(&fragment, &upstream).await;
        assert_eq!(nginx.ask("203.0.113.9", "192.0.2.1").await, StatusCode::OK);
        assert_eq!(nginx.ask("203.0.113.9", "192.0.2.2").await, StatusCode::OK);
        assert_eq!(nginx.ask("203.0.113.9", "192.0.2.3").await, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(nginx.ask("203.0.113.10", "192.0.2.3").await, StatusCode::OK);
    }
    // Without the fragment, nginx passes on what the client invents.
    let nginx = Nginx::start("", &upstream).await;
    for forged in 1..=4 {
        let status = nginx.ask("203.0.113.11", &format!("192.0.2.{forged}")).await;
        assert_eq!(status, StatusCode::OK);
    }
}

/// A service that allows each address two requests per hour, and trusts proxies on this machine.
fn upstream() -> Process {
    let trusted = TrustedProxies::networks(["127.0.0.0/8"]).unwrap();
    let config = WaitingRoomConfig::builder("shop")
        .client_ip(ClientIp::x_forwarded_for(trusted))
        .rate_limit(RateLimit::per_ip(Quota::per_hour(2)))
        .build();
    let layer = WaitingRoomLayer::new(config.unwrap());
    let app = Router::new().route("/", get(async || "Welcome to the shop.")).layer(layer);
    Process::start(async |listener: TcpListener| {
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        axum::serve(listener, service).await.unwrap();
    })
}

/// An nginx in front of a service. It is killed when this is dropped.
struct Nginx {
    address: SocketAddr,
    _process: tokio::process::Child,
    _folder: TempDir,
}

impl Nginx {
    /// Checks the configuration with `nginx -t`, and starts nginx on a free port.
    async fn start(fragment: &str, upstream: &Process) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = folder.path().join("nginx.conf");
        fs::write(&config, whole(fragment, folder.path(), address, upstream.port())).unwrap();
        let program =
            || Program::named("nginx").arg("-c").arg(&config).arg("-p").arg(folder.path());
        program().arg("-t").run().await;
        let process = Command::new(installed("nginx"))
            .arg("-c")
            .arg(&config)
            .arg("-p")
            .arg(folder.path())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        until("nginx listens", async || tokio::net::TcpStream::connect(address).await.ok()).await;
        Self { address, _process: process, _folder: folder }
    }

    /// Sends a request of the client `from` that claims to be `forged`.
    async fn ask(&self, from: &str, forged: &str) -> StatusCode {
        let visitor = Visitor::at(&format!("http://{}", self.address));
        let headers = [("x-test-client", from), ("x-forwarded-for", forged)];
        visitor.get_with("/", &headers).await.status
    }
}

/// Returns a configuration that contains the fragment. All clients of a test connect from this
/// machine, so nginx takes their addresses from a header, and they count as its peers.
fn whole(fragment: &str, folder: &Path, address: SocketAddr, upstream: u16) -> String {
    let folder = folder.display();
    let mut config = format!(
        "daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n\
         http {{\naccess_log off;\nset_real_ip_from 127.0.0.1;\nreal_ip_header X-Test-Client;\n"
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(config, "{kind}_temp_path {folder}/{kind};").unwrap();
    }
    write!(
        config,
        "server {{\nlisten {address};\nlocation / {{\nproxy_pass http://127.0.0.1:{upstream};\n\
         {fragment}\n}}\n}}\n}}\n"
    )
    .unwrap();
    config
}

#[tokio::test]
pub(super) async fn a_grpc_client_with_the_service_configuration_retries_on_time() {
    for config in blocks("json") {
        // It succeeds after a single refusal, so it came back after the pushback and not before.
        assert_eq!(twice(&config).await, ("OK\nOK\n".to_owned(), 1));
    }
    assert_eq!(twice("{}").await, ("OK\nRESOURCE_EXHAUSTED\n".to_owned(), 1));
}

/// Calls a service with a limit of one call per four seconds twice. Returns what the client prints,
/// and the number of refused calls. The configuration would retry after about one and three seconds
/// by itself.
async fn twice(config: &str) -> (String, u64) {
    let limit = RateLimit::global(Quota::new(1, Duration::from_secs(4)));
    let (process, handle) = serve(WaitingRoomConfig::builder("api").rate_limit(limit));
    let script = workspace("tests/tests/it/clients/check.mjs");
    let address = format!("127.0.0.1:{}", process.port());
    let printed = Program::named("node").arg(script).arg(address).arg(config).run().await;
    (printed, handle.limits().report().limits[0].refused)
}

/// The labels, ports, secrets and variables that one part of a manifest names and another defines.
#[test]
pub(super) fn the_parts_of_the_manifest_refer_to_each_other() {
    let quick_start = fs::read_to_string(workspace("docs/guide/quick-start.md")).unwrap();
    let (_, with_redis) = quick_start.split_once("## Two nodes").unwrap();
    for manifest in blocks("yaml") {
        let labels = after(&manifest, " labels: { app: ");
        assert_eq!(labels, after(&manifest, "matchLabels: { app: "));
        assert_eq!(labels, after(&manifest, " selector: { app: "));
        let ports = after(&manifest, "targetPort: ");
        let named = manifest.lines().filter(|line| line.contains("containerPort"));
        assert_eq!(ports, named.flat_map(|line| after(line, "{ name: ")).collect());
        assert!(after(&manifest, "path: /health, port: ").is_subset(&ports));
        let secrets = after(&manifest, "--from-literal=");
        assert_eq!(secrets, after(&manifest, "secretKeyRef: { name: shop, key: "));
        let variables = after(&manifest, "- name: ");
        assert!(after(with_redis, "env::var(\"").is_subset(&variables), "{variables:?}");
    }
}

/// Returns the words that follow these characters in a text.
fn after(text: &str, before: &str) -> BTreeSet<String> {
    let words = text.split(before).skip(1).map(|rest| {
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        rest.chars().take_while(|&c| is_of_word(c)).collect()
    });
    let words: BTreeSet<_> = words.collect();
    assert!(!words.is_empty(), "nothing follows {before}");
    words
}
