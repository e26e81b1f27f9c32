//! A service that converts pictures, and a gate that leaves a core to everything else.
//!
//! ```text
//! cargo run --release -p converter
//! curl --data-binary @photo.jpg http://127.0.0.1:3000/convert > half.jpg
//! ```
//!
//! A conversion keeps one core busy. The gate runs as many of them as there are cores but one, and lets
//! the other requests wait. The health check is outside of the gate, and is answered at any load.

#[cfg(test)]
mod tests;

use std::{error::Error, io::Cursor, num::NonZeroUsize, thread, time::Duration};

use axum::{
    Extension, Router,
    body::Bytes,
    extract::DefaultBodyLimit,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::{get, post},
};
use image::{ImageFormat, ImageReader, ImageResult, Limits, imageops::FilterType};
use tokio::{net::TcpListener, task::spawn_blocking};
use tower_waiting_room::{
    Concurrency, ConfigError, WaitingRoomConfig, WaitingRoomLayer, gate::PermitHandle,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let conversions = u32::try_from(cores.saturating_sub(1).max(1))?;
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("http://{}, {conversions} conversions at once", listener.local_addr()?);
    Ok(axum::serve(listener, app(gate(conversions)?)).await?)
}

/// The gate in front of the conversions. A client that finds the queue full, or waits for too long, is
/// refused, and `Retry-After` tells it when a permit will be free.
fn gate(conversions: u32) -> Result<WaitingRoomLayer, ConfigError> {
    let gate = Concurrency::limit(conversions).queue(32).max_wait(Duration::from_secs(10));
    Ok(WaitingRoomLayer::new(WaitingRoomConfig::builder("converter").concurrency(gate).build()?))
}

fn app(gate: WaitingRoomLayer) -> Router {
    Router::new()
        .route("/convert", post(convert))
        .layer(DefaultBodyLimit::max(MAX_BYTES))
        .layer(gate)
        .route("/healthz", get(async || "fine\n"))
}

async fn convert(
    Extension(permit): Extension<PermitHandle>,
    picture: Bytes,
) -> Result<impl IntoResponse, StatusCode> {
    let converted = compute(permit, move || half(&picture)).await?;
    let picture = converted.map_err(|_unreadable| StatusCode::UNPROCESSABLE_ENTITY)?;
    Ok(([(header::CONTENT_TYPE, "image/jpeg")], picture))
}

/// Runs work that takes a core, on a thread of its own.
///
/// The permit goes with the work. If the client disconnects, its request is dropped, but the thread
/// cannot be stopped: without the handle, another conversion would begin while the core is still busy.
async fn compute<T: Send + 'static>(
    permit: PermitHandle,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StatusCode> {
    let working = spawn_blocking(move || {
        let done = work();
        drop(permit);
        done
    });
    working.await.map_err(|_panic| StatusCode::INTERNAL_SERVER_ERROR)
}

/// The picture at half the size, sharpened, as a JPEG.
fn half(source: &[u8]) -> ImageResult<Vec<u8>> {
    let mut reader = ImageReader::with_format(Cursor::new(source), ImageFormat::Jpeg);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_EDGE);
    limits.max_image_height = Some(MAX_EDGE);
    reader.limits(limits);
    let picture = reader.decode()?;
    let width = (picture.width() / 2).max(1);
    let height = (picture.height() / 2).max(1);
    let half = picture.resize_exact(width, height, FilterType::Lanczos3).unsharpen(1.5, 2);
    let mut encoded = Cursor::new(Vec::new());
    half.write_to(&mut encoded, ImageFormat::Jpeg)?;
    Ok(encoded.into_inner())
}

/// The maximum size of a picture. Those of waiting requests have not been read yet.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The maximum width and height in pixels, which bounds the memory of a conversion.
const MAX_EDGE: u32 = 4096;
