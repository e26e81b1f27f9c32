//! A server behind TLS.

use std::{fs, net::TcpListener, time::Duration};

use redis::{Client, TlsCertificates};
use tempfile::TempDir;
use waiting_room_core::{Reason, RoomRules, Store, Verdict, VisitorId};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

use crate::examples::{self, JOINED};

/// A server with a self-signed certificate for `localhost`.
struct TlsServer {
    _server: EngineServer,
    directory: TempDir,
    certificate: String,
    port: u16,
}

impl TlsServer {
    fn start(engine: Engine) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = signed.cert.pem();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let public = file("cert.pem", &certificate);
        let secret = file("key.pem", &signed.signing_key.serialize_pem());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = [
            ["--tls-port", &port.to_string()],
            ["--tls-cert-file", &public],
            ["--tls-key-file", &secret],
            ["--tls-ca-cert-file", &public],
            ["--tls-auth-clients", "no"],
        ];
        let _server = EngineServer::start_with(engine, options.as_flattened()).unwrap();
        Self { _server, directory, certificate, port }
    }

    fn certificate_file(&self) -> String {
        self.directory.path().join("cert.pem").to_str().unwrap().to_owned()
    }

    /// Connects a store over TLS, which trusts this certificate and the certificates of the
    /// machine.
    async fn store(&self, trusted: Option<&str>) -> Result<RedisStore, impl std::error::Error> {
        let root_cert = trusted.map(|trusted| trusted.as_bytes().to_vec());
        let certificates = TlsCertificates { client_tls: None, root_cert };
        let url = format!("rediss://localhost:{}", self.port);
        let client = Client::build_with_tls(url, certificates).unwrap();
        let open = move || {
            let client = client.clone();
            async move { client.get_multiplexed_async_connection().await }
        };
        let options = RedisStoreOptions::new().deadline(Duration::from_secs(1));
        RedisStore::connect(open, RoomRules::new("shop", 1), options).await
    }
}

#[tokio::test]
async fn a_room_is_shared_over_tls_only_with_a_trusted_certificate() {
    // Once for the process: the `redis` client has no cryptography of its own.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    for engine in [Engine::Redis, Engine::Valkey] {
        let server = TlsServer::start(engine);
        let store = server.store(Some(&server.certificate)).await.unwrap();
        let other = server.store(Some(&server.certificate)).await.unwrap();
        let entered = store.enter(VisitorId::new(1)).await.unwrap();
        assert!(matches!(entered, Verdict::Admit { .. }), "{engine}: {entered:?}");
        let waits = other.enter(VisitorId::new(2)).await.unwrap();
        let is_full = matches!(waits, Verdict::Wait { reason: Reason::QueuedActiveLimit, .. });
        assert!(is_full, "{engine}: {waits:?}");
        store.leave(VisitorId::new(1)).await.unwrap();
        let url = format!("rediss://localhost:{}", server.port);
        let said = examples::run("tls", &[&url, &server.certificate_file()]);
        assert_eq!(said, JOINED, "{engine}");
        // A store that does not trust the server may start without it, but makes no calls to it.
        if let Ok(stranger) = server.store(None).await {
            assert!(stranger.enter(VisitorId::new(3)).await.is_err(), "{engine}");
        }
    }
}
