//! Push over real sockets: curl, hyper and Chromium.

use std::{process::Stdio, time::Duration};

use serde_json::json;
use tests::{Browser, House, Program, Visitor, config, installed, until};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    process::{Child, ChildStdout, Command},
    time::timeout,
};
use tower_waiting_room::{room::Push, token::CookieSettings};

const PATH: &str = "/waiting-room/events";

/// A room with push whose visitors check in seldom, so that a quick admission is due to push.
fn pushing() -> tower_waiting_room::config::WaitingRoomConfigBuilder {
    config().refresh_interval(Duration::from_secs(60)).push(Push::at(PATH))
}

/// `curl -N`, which prints the lines of a stream as they come.
struct Curl {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Curl {
    fn start(jar: &str, url: &str) -> Self {
        let options = ["--disable", "--silent", "--no-buffer", "--noproxy", "*", "--cookie", jar];
        let mut child = Command::new(installed("curl"))
            .args(options)
            .args(["--cookie-jar", jar, "--header", "Accept: text/event-stream", url])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { lines, _child: child }
    }

    /// Reads until a line with this event.
    async fn event(&mut self, name: &str) {
        let wanted = format!("event: {name}");
        let search = async {
            loop {
                let line = self.lines.next_line().await.unwrap();
                if line.expect("the event comes before the end") == wanted {
                    return;
                }
            }
        };
        timeout(Duration::from_secs(20), search).await.expect("the event comes in time");
    }
}

/// Gets a ticket into the jar, and returns the status of the answer.
async fn visit(jar: &str, url: &str) -> String {
    let options = ["--disable", "--silent", "--noproxy", "*", "--output", "/dev/null"];
    let program = Program::named("curl").args(options);
    program
        .args(["--cookie", jar, "--cookie-jar", jar, "--write-out", "%{http_code}", url])
        .run()
        .await
}

#[tokio::test]
async fn curl_follows_the_line_and_its_next_request_is_admitted() {
    let (house, guest) = House::full(pushing()).await;
    let folder = tempfile::tempdir().unwrap();
    let jar = folder.path().join("jar").display().to_string();
    assert_eq!(visit(&jar, &house.url("/")).await, "429");
    let mut curl = Curl::start(&jar, &house.url(PATH));
    curl.event("position").await;
    house.has_waiting(1).await;
    guest.leave().await;
    curl.event("turn").await;
    // The stream is still open, so the jar has the cookie from before the stream.
    assert_eq!(visit(&jar, &house.url("/")).await, "200");
}

#[tokio::test]
async fn the_page_enters_by_push() {
    let house = House::open(pushing().cookie(CookieSettings::new()));
    let guest = house.guest().await;
    let browser = Browser::start().await;
    browser.goto(&house.url("/item?id=7")).await;
    browser.value("window.unmoved = true").await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    assert_eq!(browser.value("window.unmoved").await, json!(true), "the page was not reloaded");
    // The policy of the page allows the stream. The status of the page is a complaint as well.
    let complaints = browser.complaints().await;
    assert!(complaints.iter().all(|complaint| complaint.contains("503")), "{complaints:?}");
    guest.leave().await;
    assert_eq!(browser.inside().await, "GET /item?id=7");
}

#[tokio::test]
async fn a_page_whose_stream_is_refused_polls() {
    let config = config().push(Push::at(PATH)).cookie(CookieSettings::new());
    let house = House::open(config);
    let guest = house.guest().await;
    house.handle().end_push_streams();
    let browser = Browser::start().await;
    browser.goto(&house.url("/")).await;
    browser.text_when("h1", |text| text == "You are next in line").await;
    guest.leave().await;
    assert_eq!(browser.inside().await, "GET /");
}

#[tokio::test]
async fn a_client_that_disconnects_frees_its_stream() {
    let (house, _guest) = House::full(config().push(Push::at(PATH).max_streams(1))).await;
    let mut socket = None;
    for _ in 0..3 {
        let visitor = Visitor::of(&house).get("/").await;
        let cookie = visitor.header("set-cookie").unwrap().split(';').next().unwrap();
        // A server learns of the end of a connection when it next looks at the socket.
        drop(socket.take());
        let opened = until("a stream", async || {
            let (socket, status) = ask(&house, cookie).await;
            (status == "200").then_some(socket)
        });
        socket = Some(opened.await);
        assert_eq!(ask(&house, cookie).await.1, "503");
    }
}

/// Asks for a stream over a socket of its own. Returns the status.
async fn ask(house: &House, cookie: &str) -> (TcpStream, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", house.port())).await.unwrap();
    let request = format!(
        "GET {PATH} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\
         cookie: {cookie}\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    socket.read_exact(&mut head).await.unwrap();
    (socket, String::from_utf8_lossy(&head[9..]).into_owned())
}
