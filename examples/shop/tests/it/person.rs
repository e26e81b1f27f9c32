//! What persons see who start the shop and open it in a browser.

use std::{net::TcpListener, time::Duration};

use tests::{Browser, prometheus_series, until};
use tokio::time::timeout;

use crate::shop::Shop;

/// The place that the page shows, and whether the person is inside, where there is no place.
async fn place(browser: &Browser) -> Option<u32> {
    let shown = browser.text("h1").await?.replace('\n', " ");
    let place = shown.strip_prefix("You are number ")?.strip_suffix(" in line")?;
    Some(place.parse().unwrap())
}

/// Waits in the line of a browser's page until the person is inside. Returns all places that it showed.
async fn wait_in_line(browser: &Browser) -> Vec<u32> {
    let mut places = Vec::new();
    let waiting = async {
        until("a place in line", async || place(browser).await).await;
        while browser.text("form.inside").await.is_none() {
            let shown = place(browser).await;
            places.extend(shown.filter(|shown| Some(shown) != places.last()));
        }
    };
    timeout(Duration::from_secs(60), waiting)
        .await
        .expect("the person is admitted within a minute");
    places
}

#[tokio::test]
async fn a_person_sees_a_number_fall_and_is_admitted_again_and_again_while_others_come() {
    let shop = Shop::started(&[], &[]).await;
    let browser = Browser::start().await;
    browser.goto(&format!("http://{}/", shop.address)).await;
    for _ in 0..2 {
        let places = wait_in_line(&browser).await;
        assert!(places.len() >= 3 && places.is_sorted_by(|now, later| now > later), "{places:?}");
        assert!((8..=25).contains(&places[0]), "the line has its usual length: {places:?}");
        let series = prometheus_series(&shop.visitor().get("/metrics").await.body);
        let of = |name: &str| series[&format!("waiting_room_{name}{{room=\"shop\"}}")];
        assert!(of("active") <= 10.0 && of("waiting") >= 5.0, "{series:?}");
        browser.value("document.querySelector('form.inside button').click()").await;
    }

    // The address and the password of the dashboard are printed beside those of the shop.
    let greeting = shop.greeting.join("\n");
    let (_, password) = greeting.split_once(", password ").unwrap();
    let password = password.lines().next().unwrap();
    assert!(greeting.contains(&format!("http://{}/admin\n", shop.address)), "{greeting}");
    browser.goto(&format!("http://admin:{password}@{}/admin", shop.address)).await;
    browser.text_when("#active-of", |text| text == "of 10").await;
    browser.text_when("#waiting", |text| text.parse::<u32>().is_ok_and(|line| line >= 5)).await;
    assert_eq!(shop.close("-INT", Duration::from_secs(20)).await, Some(0));
}

#[tokio::test]
async fn a_shop_whose_port_is_taken_says_which_option_to_set() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, said) = Shop::refused(&["--listen", &address], &[]).await;
    assert_eq!(code, Some(2));
    assert!(said.starts_with(&format!("shop: {address}: ")) && said.contains("--listen"), "{said}");
}

#[tokio::test]
async fn the_first_ctrl_c_ends_the_shop_although_a_page_of_the_dashboard_is_open() {
    let password = "doors-open-at-eight";
    let shop = Shop::open(&["--admin"], &[("SHOP_ADMIN_PASSWORD", password)]).await;
    let request = reqwest::Client::new().get(format!("http://{}/admin/events", shop.address));
    let mut stream = request.basic_auth("admin", Some(password)).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    assert_eq!(shop.close("-INT", Duration::from_secs(20)).await, Some(0));
    // The stream ends, or else it would run for a minute.
    let ended = async { while stream.chunk().await.unwrap().is_some() {} };
    timeout(Duration::from_secs(20), ended).await.unwrap();
}
