use std::sync::Mutex;

use axum::{Router, http::StatusCode, response::IntoResponse};
use tokio::net::TcpListener;
use waiting_room_sim::{Limits, plan::Ending};

use super::*;

/// Admits a visitor once, and then asks it to return after a second. Returns the address, and the times of
/// the requests.
async fn shop() -> (SocketAddr, Arc<Mutex<Vec<Instant>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&asked);
    let answer = move || async move {
        let mut times = times.lock().unwrap();
        times.push(Instant::now());
        match times.len() {
            1 => "welcome".into_response(),
            _ => {
                let headers = [("waiting-room", "wait"), ("retry-after", "1")];
                (StatusCode::SERVICE_UNAVAILABLE, headers).into_response()
            }
        }
    };
    let app = Router::new().fallback(answer);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, app).into_future());
    (address, asked)
}

/// Uses real sockets, and thus real time: it takes a second and a half.
#[tokio::test]
async fn a_visitor_whose_session_is_over_returns_when_asked_to() {
    let (address, asked) = shop().await;
    let witness = Arc::new(Witness::new(Limits {
        total_active_users: 1,
        new_users_per_minute: None,
        session_duration: Duration::from_secs(60),
        place_retention: Duration::from_secs(300),
        refresh_interval: Duration::from_secs(20),
    }));
    let plan = Plan {
        arrival: Duration::ZERO,
        kind: Kind::ApiWithCookies,
        memory: Memory::Keeps,
        thoughts: vec![Duration::ZERO],
        ending: Ending::Silence,
        patience: Some(Duration::from_millis(1_500)),
        absence: None,
    };
    Visitor::new(0, plan, address, witness).unwrap().live().await;
    let asked = asked.lock().unwrap();
    let gaps: Vec<_> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    assert!(gaps[1] >= Duration::from_secs(1), "{gaps:?}");
}
