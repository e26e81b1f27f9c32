//! A room on a server behind TLS.
//!
//! ```text
//! cargo run -p waiting-room-redis --example tls -- rediss://name:secret@host:6380
//! cargo run -p waiting-room-redis --example tls -- rediss://localhost:6380 authority.pem
//! ```

use std::{env, error::Error, fs};

use redis::{Client, TlsCertificates};
use waiting_room_core::{RoomRules, Store};
use waiting_room_redis::{RedisStore, RedisStoreOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let url = arguments.next().ok_or("usage: tls <rediss URL> [<file with a root certificate>]")?;
    let rules = RoomRules::new("shop", 200);

    // The client has no cryptography of its own. This choice is made once for the process.
    rustls::crypto::ring::default_provider().install_default().expect("nothing is chosen yet");
    let client = match arguments.next() {
        None => Client::open(url)?,
        Some(file) => {
            let root_cert = Some(fs::read(file)?);
            Client::build_with_tls(url, TlsCertificates { client_tls: None, root_cert })?
        }
    };

    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let store = RedisStore::connect(open, rules, RedisStoreOptions::new()).await?;

    let room = store.snapshot().await?;
    println!("{} of {} visitors are active", room.active, room.total_active_users);
    Ok(())
}
