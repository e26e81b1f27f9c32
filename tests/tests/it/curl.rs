//! Tests with curl, which can obey `Retry-After` and keep a cookie jar.

use tests::{House, Program, config, until};

/// curl without a configuration file. Bodies are written to the file `shown`; the values that
/// `format` selects are returned.
pub(crate) fn curl(shown: &str, format: &str) -> Program {
    let options = ["--disable", "--silent", "--show-error", "--noproxy", "*", "--output", shown];
    Program::named("curl").args(options).args(["--write-out", format])
}

#[tokio::test]
async fn each_accept_header_gets_a_usable_answer() {
    let (house, _guest) = House::full(config()).await;
    for (accept, expected) in [
        ("*/*", "429 application/json"),
        ("application/json", "429 application/json"),
        ("application/problem+json", "429 application/problem+json"),
        ("text/plain", "429 text/plain; charset=utf-8"),
        ("text/html", "503 text/html; charset=utf-8"),
    ] {
        let seen = curl("/dev/null", "%{http_code} %{content_type}")
            .args(["--header", &format!("Accept: {accept}"), &house.url("/")])
            .run()
            .await;
        assert_eq!(seen, expected, "{accept}");
    }
}

#[tokio::test]
async fn a_page_refreshes_at_the_time_at_which_a_program_would_return() {
    let (house, _guest) = House::full(config()).await;
    let times = "%header{refresh} %header{retry-after}";
    let ask = |accept: &str| {
        curl("/dev/null", times).args(["--header", &format!("Accept: {accept}"), &house.url("/")])
    };
    let page = ask("text/html").run().await;
    assert!(["1 1", "2 2"].contains(&page.as_str()), "{page}");
    let data = ask("application/json").run().await;
    assert!([" 1", " 2"].contains(&data.as_str()), "{data}");
}

#[tokio::test]
async fn curl_with_a_jar_and_retries_waits_and_enters() {
    let (house, guest) = House::full(config()).await;
    let folder = tempfile::tempdir().unwrap();
    let [shown, jar] = ["shown", "jar"].map(|name| folder.path().join(name).display().to_string());
    let visit = curl(&shown, "%{http_code}").args([
        "--cookie",
        &jar,
        "--cookie-jar",
        &jar,
        "--retry",
        "9",
        &house.url("/item?id=7"),
    ]);
    let visit = tokio::spawn(visit.run());
    house.has_waiting(1).await;
    guest.leave().await;
    assert_eq!(visit.await.unwrap(), "200");
    let shown = std::fs::read_to_string(&shown).unwrap();
    assert!(shown.contains("<p id=asked>GET /item?id=7</p>"), "{shown}");

    // The next run finds the pass in the jar; a visitor without it joins the end of the line.
    let with_jar = curl("/dev/null", "%{http_code}").args(["--cookie", &jar, &house.url("/")]);
    assert_eq!(with_jar.run().await, "200");
    let without = curl("/dev/null", "%{http_code}").arg(house.url("/"));
    assert_eq!(without.run().await, "429");
}

#[tokio::test]
async fn curl_over_http_2_without_tls_waits_and_enters() {
    let (house, guest) = House::full(config()).await;
    let folder = tempfile::tempdir().unwrap();
    let jar = folder.path().join("jar").display().to_string();
    // Without `--retry`, because curl 7.88 fails to reuse such a connection.
    let ask = async || {
        curl("/dev/null", "%{http_version} %{http_code}")
            .args(["--http2-prior-knowledge", "--cookie", &jar, "--cookie-jar", &jar])
            .arg(house.url("/"))
            .run()
            .await
    };
    assert_eq!(ask().await, "2 429");
    guest.leave().await;
    until("HTTP/2 visitor inside", async || (ask().await == "2 200").then_some(())).await;
}
