//! A stream of a site or of an operator, after its greeting.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};

use crate::{
    SiteId,
    escrow::{Incarnation, MAX_MESSAGE_LEN, ToGlobal},
    holder::{Delivery, Event, HolderHandle, OpenRefused, OrderError, Role, StreamId},
    server::peers::Caller,
    wire::{
        FrameError, FrameReader, FrameWriter, MAX_FRAME_LEN, Opener, Pulse, Sealer, close,
        parse_order,
    },
};

/// The maximum number of messages that wait for a site to read. A slower site is disconnected.
const MAX_UNREAD: usize = 64;
/// The interval at which a silent site is pinged.
const PULSE: Duration = Duration::from_secs(5);
/// The time for a client to confirm the greeting, and for an operator to give an order.
const CONFIRM_WITHIN: Duration = Duration::from_secs(5);

/// A stream whose greeting was accepted.
#[derive(Debug)]
pub(super) struct Greeted {
    pub(super) id: StreamId,
    pub(super) room: HolderHandle,
    pub(super) reader: FrameReader,
    pub(super) writer: FrameWriter,
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
    /// The connection of the stream, which is confirmed by a frame that only a client with a key can seal.
    pub(super) caller: Arc<Caller>,
}

/// Serves the stream of a site until it ends. Returns a sentence if the operator should know why.
pub(super) async fn serve_site(
    greeted: Greeted,
    site: SiteId,
    incarnation: Incarnation,
    pulse: Option<Pulse>,
) -> Result<(), String> {
    let Greeted { id, room, mut reader, mut writer, mut sealer, mut opener, caller } = greeted;
    // Until the client has sealed a frame with the keys of the stream, the greeting may be a
    // replay.
    let confirmed = timeout(CONFIRM_WITHIN, reader.next(&mut opener)).await;
    match confirmed {
        Ok(Ok(confirm)) if confirm.is_empty() => {
            if !caller.confirm() {
                return Err("there are too many connections".to_owned());
            }
        }
        Ok(Err(error)) if error.is_forged() => return Err(error.to_string()),
        Ok(Ok(_) | Err(_)) | Err(_) => return Ok(()),
    }
    let (outlet, deliveries) = mpsc::channel(MAX_UNREAD);
    let (reply, opened) = oneshot::channel();
    let event = Event::Open { site, incarnation, stream: id, outlet, reply };
    let mut role = room.watch_role();
    let opened = if room.deliver(event).await { opened.await.ok() } else { None };
    let sentence = match opened {
        Some(Ok(())) => None,
        Some(Err(OpenRefused::Doubled { connected })) => Some(format!(
            "it is connected already, with incarnation {:016x}, so incarnation {:016x} is refused",
            connected.bits(),
            incarnation.bits()
        )),
        Some(Err(OpenRefused::Standby)) | None => Some("this process is a standby".to_owned()),
    };
    if let Some(sentence) = sentence {
        // The client gets the reason, too: the site's operator reads the client's log.
        let _ = writer.write(&mut sealer, &close(&sentence)).await;
        writer.end();
        return Err(sentence);
    }
    let result = tokio::select! {
        ended = receive(&room, site, id, &mut reader, &mut opener) => ended,
        () = send(deliveries, &mut writer, &mut sealer) => Ok(()),
        () = stand_down(&mut role) => Ok(()),
        () = lose_pulse(pulse) => Err("it does not answer pings".to_owned()),
    };
    room.deliver(Event::Close { site, stream: id }).await;
    result
}

/// Hands the messages of a site to the holder.
async fn receive(
    room: &HolderHandle,
    site: SiteId,
    stream: StreamId,
    reader: &mut FrameReader,
    opener: &mut Opener,
) -> Result<(), String> {
    loop {
        let content = match reader.next(opener).await {
            Ok(content) if content.len() <= MAX_MESSAGE_LEN => content,
            Ok(content) => {
                let most = MAX_MESSAGE_LEN;
                return Err(FrameError::TooLong { given: content.len(), most }.to_string());
            }
            Err(FrameError::Closed | FrameError::Transport(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let message = ToGlobal::decode(&content).map_err(|error| error.to_string())?;
        if message.from() != site {
            return Err(format!("it sends messages of site {}", message.from().number()));
        }
        if !room.deliver(Event::Message { stream, message }).await {
            return Ok(());
        }
    }
}

/// Writes the messages for a site, except for those that have waited for too long. Ends when the
/// holder has dropped the stream, or the site does not read.
async fn send(
    mut deliveries: mpsc::Receiver<Delivery>,
    writer: &mut FrameWriter,
    sealer: &mut Sealer,
) {
    while let Some(delivery) = deliveries.recv().await {
        if Instant::now() > delivery.until {
            continue;
        }
        if writer.write(sealer, &delivery.message.encode()).await.is_err() {
            return;
        }
    }
}

/// Completes when the process is a standby, or has another term.
async fn stand_down(role: &mut tokio::sync::watch::Receiver<Role>) {
    let begun = match *role.borrow_and_update() {
        Role::Holding(term) => Role::Holding(term),
        Role::Standby => return,
    };
    // The holder has stopped if the channel is closed.
    let _ = role.wait_for(|role| *role != begun).await;
}

/// Completes when the peer does not answer a ping.
async fn lose_pulse(pulse: Option<Pulse>) {
    let Some(mut pulse) = pulse else { return std::future::pending().await };
    loop {
        tokio::time::sleep(PULSE).await;
        if !pulse.is_felt().await {
            return;
        }
    }
}

/// Serves one order of an operator.
pub(super) async fn serve_operator(greeted: Greeted) {
    let Greeted { room, mut reader, mut writer, mut sealer, mut opener, caller, .. } = greeted;
    let Ok(Ok(content)) = timeout(CONFIRM_WITHIN, reader.next(&mut opener)).await else { return };
    if !caller.confirm() {
        return;
    }
    let order = std::str::from_utf8(&content).map_err(|_| "the order is not text".to_owned());
    let result = match order.and_then(parse_order) {
        Ok(order) => match room.order(order).await {
            // The client looks for the holder elsewhere.
            Err(OrderError::NotHolding) => return,
            result => result.map_err(|error| error.to_string()),
        },
        Err(flaw) => Err(flaw),
    };
    let (mark, text) = match result {
        Ok(text) => (b'+', text),
        Err(text) => (b'-', text),
    };
    let mut content = vec![mark];
    content.extend(text.bytes());
    for chunk in content.chunks(MAX_FRAME_LEN) {
        if writer.write(&mut sealer, chunk).await.is_err() {
            return;
        }
    }
    // An empty frame ends the answer, so that a truncated answer is noticed.
    let _ = writer.write(&mut sealer, &[]).await;
    writer.end();
}
