//! Tests with curl, with requests that few clients send.

use tests::{House, config};

use crate::curl::curl;

#[tokio::test]
async fn a_head_request_is_answered_at_once_and_without_a_body() {
    let (house, _guest) = House::full(config()).await;
    let seen = curl("/dev/null", "%{http_code} %{size_download} %header{content-length}")
        .args(["--head", "--header", "Accept: text/html", &house.url("/")])
        .run()
        .await;
    let length = seen.strip_prefix("503 0 ").unwrap_or_else(|| panic!("{seen}"));
    assert!(length.parse::<u32>().unwrap() > 1_000, "the length of the page: {seen}");
}

#[tokio::test]
async fn a_preflight_reaches_the_application_and_other_options_wait() {
    let (house, _guest) = House::full(config()).await;
    let options = || curl("-", " %{http_code}").args(["--request", "OPTIONS", &house.url("/pay")]);
    let preflight = options()
        .args(["--header", "Origin: https://shop.example"])
        .args(["--header", "Access-Control-Request-Method: POST"]);
    let seen = preflight.run().await;
    assert!(seen.contains("OPTIONS /pay") && seen.ends_with(" 200"), "{seen}");
    let seen = options().run().await;
    assert!(seen.contains("waitingRoom") && seen.ends_with(" 429"), "{seen}");
}

#[tokio::test]
async fn a_large_upload_is_refused_before_it_is_sent() {
    let (house, _guest) = House::full(config()).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 4 << 20]).unwrap();
    let upload = format!("@{}", file.path().display());
    let seen = curl("/dev/null", "%{http_code} %{size_upload}")
        .args(["--expect100-timeout", "20", "--header", "Expect: 100-continue"])
        .args(["--data-binary", &upload, &house.url("/upload")])
        .run()
        .await;
    assert_eq!(seen, "429 0");
}

#[tokio::test]
async fn a_small_post_gets_its_answer_and_the_connection_goes_on() {
    let (house, _guest) = House::full(config()).await;
    let body = "x".repeat(10_000);
    let seen = curl("/dev/null", "%{http_code} %{num_connects}\n")
        .args(["--data-raw", &body, &house.url("/order"), &house.url("/order")])
        .args(["--output", "/dev/null"])
        .run()
        .await;
    assert_eq!(seen, "429 1\n429 0\n");
}

#[tokio::test]
async fn eight_kilobytes_of_garbage_and_four_hundred_cookies_are_no_ticket() {
    let (house, _guest) = House::full(config()).await;
    let garbage = format!("wr-shop={}", "A".repeat(8 * 1024));
    let many: Vec<_> = (0..400).map(|number| format!("cookie{number}={number}")).collect();
    for cookies in [garbage, many.join("; ")] {
        for version in ["--http1.1", "--http2-prior-knowledge"] {
            let seen = curl("-", " %{http_code}")
                .args([version, "--header", &format!("Cookie: {cookies}"), &house.url("/")])
                .run()
                .await;
            assert!(seen.contains(r#""position":null"#) && seen.ends_with(" 429"), "{seen}");
        }
    }
}

#[tokio::test]
async fn a_pass_is_found_behind_four_hundred_other_cookies() {
    let house = House::open(config());
    let folder = tempfile::tempdir().unwrap();
    let jar = folder.path().join("jar").display().to_string();
    curl("/dev/null", "").args(["--cookie-jar", &jar, &house.url("/")]).run().await;
    let jar = std::fs::read_to_string(&jar).unwrap();
    let pass = jar.lines().find_map(|line| line.split("wr-shop\t").nth(1)).unwrap();
    let mut many: Vec<_> = (0..400).map(|number| format!("cookie{number}={number}")).collect();
    many.push(format!("wr-shop={pass}"));
    let seen = curl("/dev/null", "%{http_code}")
        .args(["--header", &format!("Cookie: {}", many.join("; ")), &house.url("/")])
        .run()
        .await;
    assert_eq!(seen, "200");
}
