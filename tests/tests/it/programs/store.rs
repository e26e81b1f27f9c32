//! The program with several nodes.

use http::{Method, StatusCode};
use waiting_room_engines::{Engine, EngineServer, Persistence};

use super::running::Running;

#[tokio::test]
async fn two_nodes_of_the_docs_share_a_room_and_its_limits_by_redis_or_valkey() {
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let here = node("shared_room", &server).await;
        let there = node("shared_room", &server).await;

        // There are two slots; one is taken at each node.
        let guest = here.visitor();
        for visitor in [&guest, &there.visitor()] {
            assert_eq!(visitor.get("/").await.body, "Welcome to the shop.", "{engine}");
        }
        let third = here.visitor().get("/").await;
        assert_eq!(third.status, StatusCode::TOO_MANY_REQUESTS, "{engine}");
        assert_eq!(third.json()["waitingRoom"]["status"], "waiting", "{engine}");

        // The pass is valid at both nodes, and three of six requests are left.
        let elsewhere = guest.at_another(there.address());
        let mut statuses = Vec::new();
        for _ in 0..2 {
            statuses.push(elsewhere.get("/").await.status);
            statuses.push(guest.get("/").await.status);
        }
        let [served @ .., refused] = &*statuses else { unreachable!() };
        assert_eq!(served, [StatusCode::OK; 3], "{engine}");
        assert_eq!(*refused, StatusCode::TOO_MANY_REQUESTS, "{engine}");
        for node in [here, there] {
            assert_eq!(node.close().await, "", "{engine}");
        }
    }
}

#[tokio::test]
async fn two_nodes_of_the_docs_share_a_gate_by_redis_or_valkey() {
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let program = "shared_gate";
        let nodes = [node(program, &server).await, node(program, &server).await];
        for node in &nodes {
            // The request waits until its node has a share.
            let seen = node.visitor().send(Method::POST, "/upper").await;
            assert_eq!(seen.status, StatusCode::OK, "{engine}");
        }
        for node in nodes {
            assert_eq!(node.close().await, "", "{engine}");
        }
    }
}

/// A node with the same key as the others.
async fn node(program: &str, server: &EngineServer) -> Running {
    Running::start_with(program, |command| {
        let key = "ERERERERERERERERERERERERERERERERERERERERERE=";
        command.env("REDIS_URL", server.url()).env("WAITING_ROOM_KEY", key)
    })
    .await
}
