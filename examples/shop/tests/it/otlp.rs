//! A collector gets the metrics of the shop by OTLP over HTTP.

use std::time::Duration;

use tests::{Collector, Manner, documented_metrics, prometheus_series, until};
use tokio::time::timeout;

use crate::shop::{Shop, check_out, free_address, is_inside};

/// Opens a shop that exports to the collector at this address every tenth of a second.
async fn exporting(to: &str) -> Shop {
    Shop::open(&["--otlp", to], &[("OTEL_METRIC_EXPORT_INTERVAL", "100")]).await
}

/// Returns when the value of a series of the room has been exported.
async fn reads(collector: &Collector, name: &str, value: f64) {
    let series = format!("waiting_room_{name}{{room=\"shop\"}}");
    until(&format!("{series} is {value}"), async || {
        let exported = collector.series().get(&series).copied();
        exported.filter(|exported| (exported - value).abs() < 1e-9)
    })
    .await;
}

#[tokio::test]
async fn a_collector_gets_the_figures_that_the_shop_shows_to_prometheus() {
    let collector = Collector::start(Manner::Accepts);
    let shop = exporting(&collector.origin()).await;
    let [ann, bob, eve] = [(); 3].map(|()| shop.visitor());
    assert!(is_inside(&ann).await && is_inside(&bob).await);
    // No scrape has recorded the gauges.
    for name in ["active", "active_limit", "admitted_total"] {
        reads(&collector, name, 2.0).await;
    }
    until("a visitor is in line", async || {
        assert!(!is_inside(&eve).await);
        let waiting = collector.series().get("waiting_room_waiting{room=\"shop\"}").copied();
        waiting.filter(|waiting| *waiting > 0.0)
    })
    .await;
    check_out(&ann).await;
    until("the next visitor is admitted", async || is_inside(&eve).await.then_some(())).await;
    reads(&collector, "admitted_total", 3.0).await;
    reads(&collector, "wait_seconds_count", 1.0).await;
    reads(&collector, "session_seconds_count", 1.0).await;
    reads(&collector, "active", 2.0).await;

    // Between the two, a gauge may have been recorded again, so there are several attempts.
    until("the collector gets what Prometheus would read", async || {
        let scraped = prometheus_series(&shop.visitor().get("/metrics").await.body);
        let before = collector.requests();
        // An export that runs already may have older figures.
        let later = async || (collector.requests() > before + 1).then_some(());
        until("the next export", later).await;
        (collector.series() == scraped).then_some(())
    })
    .await;
    let documented = documented_metrics();
    let exported = collector.exported();
    assert!(exported.len() > 15, "{:?}", exported.keys());
    for (name, metric) in exported {
        assert_eq!(documented.get(&name), Some(&metric.row), "{name}");
    }
}

#[tokio::test]
async fn the_latest_figures_are_exported_before_the_shop_ends() {
    let collector = Collector::start(Manner::Accepts);
    // The address is that of the standard variable, and the interval is the default of a minute.
    let variable = ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.origin());
    let shop = Shop::open(&[], &[variable]).await;
    let ann = shop.visitor();
    assert!(is_inside(&ann).await);
    assert_eq!(shop.close("-TERM", AT_ONCE).await, Some(0));
    assert_eq!(collector.requests(), 1);
    let admitted = collector.series()["waiting_room_admitted_total{room=\"shop\"}"];
    assert!((admitted - 1.0).abs() < 1e-9, "{admitted}");
}

#[tokio::test]
async fn a_collector_that_is_away_stalls_or_fails_delays_no_visitor_and_no_end() {
    let away = format!("http://{}", free_address());
    let [stalls, fails] = [Manner::Stalls, Manner::Fails].map(Collector::start);
    for (collector, to) in
        [(None, away), (Some(&stalls), stalls.origin()), (Some(&fails), fails.origin())]
    {
        let shop = exporting(&to).await;
        let ann = shop.visitor();
        assert!(is_inside(&ann).await);
        if let Some(collector) = collector {
            until("an export", async || (collector.requests() > 0).then_some(())).await;
        }
        for _ in 0..200 {
            // An export takes until its timeout, which is ten seconds.
            let inside = timeout(Duration::from_secs(2), is_inside(&ann)).await;
            assert_eq!(inside, Ok(true), "with the collector {to}");
        }
        let scraped = prometheus_series(&ann.get("/metrics").await.body);
        assert!(scraped.contains_key("waiting_room_admitted_total{room=\"shop\"}"), "{scraped:?}");
        assert_eq!(shop.close("-TERM", AT_ONCE).await, Some(0), "with the collector {to}");
    }
}

#[tokio::test]
async fn a_malformed_address_is_refused_with_its_source() {
    let (code, said) =
        Shop::refused(&[], &[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:4318")]).await;
    assert_eq!(code, Some(2));
    let expected = "shop: OTEL_EXPORTER_OTLP_ENDPOINT is \"https://c:4318\", expected http://HOST";
    assert!(said.starts_with(expected), "{said}");
}

/// The end of a shop, which waits for the collector for up to two seconds. The default of the SDK is
/// five.
const AT_ONCE: Duration = Duration::from_secs(4);
