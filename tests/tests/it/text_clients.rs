//! Tests with w3m, a browser without scripts and Fetch Metadata, and with wget as a crawler.

use axum::{response::Html, routing::get};
use http::header::USER_AGENT;
use tests::{House, Program, Visitor, config};

#[tokio::test]
async fn w3m_shows_the_waiting_page() {
    let (house, _guest) = House::full(config()).await;
    let page = Program::named("w3m").args(["-dump", &house.url("/")]).run().await;
    // It follows `Refresh` at once, so it may show the first page or the second one.
    let states = ["Nobody is ahead of you", "You are next in line"];
    assert!(states.iter().any(|state| page.contains(state)), "{page}");
}

/// Verified crawlers get text while visitors wait, and `robots.txt` at any time.
#[tokio::test]
async fn wget_crawls_a_site_with_a_line_and_reads_robots_txt() {
    let config = config().crawlers(|head| {
        head.headers().get(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Wget"))
    });
    let house = House::open_at(0, config, |app| {
        app.route("/start", get(async || Html("<a href=/item>an item</a>")))
    });
    let _guest = house.guest().await;
    let _next = Visitor::of(&house).queue().await;
    house.has_waiting(1).await;
    let folder = tempfile::tempdir().unwrap();
    let crawl = "wget --no-config --no-proxy --quiet --recursive --no-host-directories --tries=1 \
                 --save-headers --content-on-error --directory-prefix=\"$0\" \"$1\" || test $? = 8";
    let crawl = Program::named("sh").args(["-c", crawl]).arg(folder.path());
    crawl.arg(house.url("/start")).run().await;
    let kept = |name| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    assert!(kept("robots.txt").contains("<p id=asked>GET /robots.txt</p>"), "{folder:?}");
    let item = kept("item").to_lowercase();
    let expected = ["503", "\r\nretry-after: ", "\r\ncontent-type: text/plain; charset=utf-8\r\n"];
    assert!(expected.iter().all(|part| item.contains(part)), "{item}");
}
