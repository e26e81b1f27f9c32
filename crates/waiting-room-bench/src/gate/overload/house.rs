//! The process with the service.

use anyhow::Result;
use tokio::net::TcpListener;

use super::{contender::Contender, work::Work};
use crate::{
    measure::pin_to,
    setting::{end_with_starter, runtime, say},
};

/// Serves until standard input ends.
pub(crate) fn serve(contender: Contender, work: Work) -> Result<()> {
    pin_to(0)?;
    end_with_starter();
    runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        say(&listener.local_addr()?.port())?;
        // Made once, not for each connection: otherwise some of these would be a limit for each.
        let app = contender.app(work).into_make_service();
        Ok(axum::serve(listener, app).await?)
    })
}
