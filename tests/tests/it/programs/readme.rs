//! The program of `README.md`.

use http::StatusCode;

use super::{listing::Listing, running::Running};

/// The code with which the program passes client addresses to the layer.
const SERVES: &str = "app.into_make_service_with_connect_info::<SocketAddr>()";

/// The program, and a copy without connect info.
pub(crate) fn listings() -> [Listing; 2] {
    let readme = Listing::of_the_readme();
    let without = readme.replaced(WITHOUT, SERVES, "app");
    let without = without.replaced(WITHOUT, ", net::SocketAddr", "");
    [readme, without]
}

#[tokio::test]
async fn the_program_of_the_readme_serves_its_first_visitor() {
    let shop = Running::start("readme").await;
    let seen = shop.visitor().get("/").await;
    assert_eq!((seen.status, &*seen.body), (StatusCode::OK, "Welcome to the shop."));
    assert_eq!(shop.close().await, "", "it prints a warning");
}

#[tokio::test]
async fn the_program_of_the_readme_reports_missing_connect_info() {
    let shop = Running::start(WITHOUT).await;
    for _ in 0..2 {
        let seen = shop.visitor().get("/").await;
        assert_eq!(seen.status, StatusCode::INTERNAL_SERVER_ERROR);
        let problem = seen.json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(SERVES), "{detail}");
    }
    let said = shop.close().await;
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(SERVES), "{said}");
}

const WITHOUT: &str = "readme-without-addresses";
