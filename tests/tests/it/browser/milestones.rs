//! The reactions of the page's script to answers that the test makes up.

use serde_json::{Value, json};
use tests::{Browser, House, config};

/// A waiting page whose script gets its answers from the test.
struct Script {
    browser: Browser,
    _house: House,
}

impl Script {
    async fn start() -> Self {
        let (house, _guest) = House::full(config()).await;
        let browser = Browser::start().await;
        browser.goto(&house.url("/")).await;
        browser.text_when("h1", |text| text == "You are next in line").await;
        let fake = "window.fetch = async () => new Response(JSON.stringify({ waitingRoom: room }), \
                    { headers: { 'waiting-room': 'wait' } })";
        browser.value(&format!("(() => {{ window.room = null; {fake}; }})()")).await;
        Self { browser, _house: house }
    }

    /// Lets the script read an answer, and returns the text of an element afterwards.
    async fn read(&self, position: u32, wait: u64, is_approximate: bool) {
        let number = match (position / 1_000, position % 1_000) {
            (0, ones) => ones.to_string(),
            (thousands, ones) => format!("{thousands},{ones:03}"),
        };
        let room = json!({
            "position": position, "isApproximate": is_approximate, "retryAfterSeconds": 600,
            "now": "2026-11-23T10:00:00.000Z", "waitingSince": "2026-11-23T09:59:00.000Z",
            "waitSeconds": { "p25": wait, "p50": wait, "p75": wait },
            "message": {
                "title": "x", "headline": "x", "number": number,
                "position": format!("You are number {number} in line"),
                "wait": format!("Estimated wait: about {} minutes.", 1 + position / 60),
                "keep": "You may close this tab for 5 minutes without losing your place.",
            },
        });
        let show = "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))";
        self.browser.value(&format!("(window.room = {room}, {show})")).await;
        self.browser.text_when("h1", |text| text.contains(&format!("\n{number}\n"))).await;
    }

    async fn heard(&self) -> Value {
        self.browser.value("document.getElementById('heard').textContent").await
    }

    async fn why(&self) -> String {
        self.browser.text("#why").await.unwrap()
    }
}

#[tokio::test]
async fn only_milestones_are_announced() {
    let script = Script::start().await;
    script.read(49, 600, false).await;
    let first = script.heard().await;
    assert!(first.as_str().unwrap().starts_with("You are number 49 in line"), "{first}");
    for position in [48, 40, 30, 21] {
        script.read(position, 600, false).await;
        assert_eq!(script.heard().await, first, "{position}");
    }
    script.read(20, 600, false).await;
    let second = script.heard().await;
    assert!(second.as_str().unwrap().starts_with("You are number 20 in line"), "{second}");
}

#[tokio::test]
async fn a_wait_that_grows_is_explained_until_it_falls_again() {
    let script = Script::start().await;
    script.read(49, 300, false).await;
    assert_eq!(script.why().await, "");
    script.read(48, 310, false).await;
    assert_eq!(script.why().await, "", "a little more is no news");
    script.read(47, 900, false).await;
    let slower = "The wait has grown because people are being let in more slowly.";
    assert_eq!(script.why().await, slower);
    script.read(46, 900, true).await;
    let returned = "The wait has grown because more people are ahead of you now.";
    assert_eq!(script.why().await, returned);
    script.read(45, 290, false).await;
    assert_eq!(script.why().await, "");
}

#[tokio::test]
async fn nothing_moves_when_the_numbers_change() {
    let script = Script::start().await;
    for (width, height) in [(320, 640), (640, 300), (1_000, 700)] {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        script.browser.devtools("Emulation.setDeviceMetricsOverride", size).await;
        // The wait in seconds does not grow, so that no explanation comes and goes.
        script.read(123_456, 1, false).await;
        script.browser.promised(FRAMES).await;
        script.browser.value(OBSERVE).await;
        for position in [99_999, 12_345, 9_999, 1_000, 999, 300, 11, 2] {
            script.read(position, 1, false).await;
        }
        script.browser.promised(FRAMES).await;
        let moved = script.browser.value("[...moved, ...observer.takeRecords().map(told)]").await;
        assert_eq!(moved, json!([]), "{width} x {height}");
    }
}

/// Two frames of the browser.
const FRAMES: &str =
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";

/// Collects what moves from now on.
const OBSERVE: &str = "(() => {
    window.moved = [];
    window.told = it => it.value + ': ' + it.sources.map(({node, previousRect, currentRect}) =>
        [node?.id || node?.parentNode?.id || node?.nodeName, previousRect.y, currentRect.y].join(' '));
    window.observer = new PerformanceObserver(list => moved.push(...list.getEntries().map(told)));
    observer.observe({ type: 'layout-shift' });
})()";
