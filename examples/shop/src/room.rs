//! The waiting room in front of the shop, as configured on the command line.

use std::time::Duration;

use clap::{Args, ValueEnum};
use tower_waiting_room::{
    ConfigError, KeyRing, TokenKey, WaitingRoomConfig, config::WaitingRoomConfigBuilder,
    request::Bypass, respond::Page, room::Recovery, token::CookieSettings,
};

/// The rules of the room.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Waiting room")]
pub struct RoomArgs {
    /// The maximum number of visitors who are active at once.
    #[arg(long, value_name = "L", default_value_t = 200)]
    pub limit: u32,
    /// The maximum number of visitors who are admitted within any 60 seconds.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub rate: u32,
    /// The time for which a visitor stays active after its last request.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub session: Option<Duration>,
    /// The interval at which visitors far back in the line check in.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "20s")]
    pub refresh_interval: Duration,
    /// The time for which a place in the line is kept after the last check-in.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub place_retention: Duration,
    /// The maximum number of places in the line; beyond it, visitors are refused.
    #[arg(long, value_name = "PLACES", default_value_t = 100_000)]
    pub line_capacity: u32,
    /// Keys of 32 bytes in base64: the first seals tokens, all open them [default: a random key]
    #[arg(
        long,
        value_name = "BASE64",
        value_delimiter = ',',
        env = "SHOP_KEY",
        hide_env_values = true
    )]
    pub keys: Vec<String>,
    /// How a room starts that may have lost its state [default: admit]
    #[arg(long, value_enum)]
    pub recovery: Option<RecoveryName>,
}

/// How a room starts that may have lost its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(clippy::exhaustive_enums, reason = "one variant for each variant of `Recovery`")]
pub enum RecoveryName {
    /// Admits visitors at once, and counts visitors with older passes when they are seen again.
    Admit,
    /// Admits no newcomer until every older pass is void.
    Pause,
}

impl RoomArgs {
    const SESSION: Duration = Duration::from_secs(5 * 60);

    /// The keys of the command line, if there are any.
    ///
    /// # Errors
    ///
    /// One of them is not a valid key.
    pub fn own_keys(&self) -> Result<Option<KeyRing>, ConfigError> {
        let mut keys = self.keys.iter().map(|key| TokenKey::from_base64(key));
        let Some(sealing) = keys.next() else { return Ok(None) };
        let ring = KeyRing::new(sealing?);
        keys.try_fold(ring, |ring, key| Ok(ring.also_opens(key?))).map(Some)
    }

    /// Builds the configuration, with a cookie that also works over HTTP.
    ///
    /// # Errors
    ///
    /// The room cannot obey one of the rules.
    pub fn config(&self, keys: Option<KeyRing>) -> Result<WaitingRoomConfig, ConfigError> {
        self.builder(keys).build()
    }

    /// The configuration before it is built, so that options can be added.
    pub fn builder(&self, keys: Option<KeyRing>) -> WaitingRoomConfigBuilder {
        let room = WaitingRoomConfig::builder("shop")
            .total_active_users(self.limit)
            .new_users_per_minute(self.rate)
            .session_duration(self.session())
            .refresh_interval(self.refresh_interval)
            .place_retention(self.place_retention)
            .line_capacity(self.line_capacity)
            .recovery(match self.recovery {
                Some(RecoveryName::Admit) | None => Recovery::AdmitAtOnce,
                Some(RecoveryName::Pause) => Recovery::Pause,
            })
            .cookie(CookieSettings::default().insecure())
            .page(Page::default().title("Slow Goods"))
            .bypass(Bypass::path("health", "/healthz"));
        if let Some(keys) = keys { room.keys(keys) } else { room }
    }

    /// The same rules as flags, without the keys, since other users of the machine can read a command line.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let time = |time: Duration| humantime::format_duration(time).to_string();
        let mut flags = vec![
            ("--limit", self.limit.to_string()),
            ("--rate", self.rate.to_string()),
            ("--session", time(self.session())),
            ("--refresh-interval", time(self.refresh_interval)),
            ("--place-retention", time(self.place_retention)),
            ("--line-capacity", self.line_capacity.to_string()),
        ];
        if let Some(name) = self.recovery.and_then(|recovery| recovery.to_possible_value()) {
            flags.push(("--recovery", name.get_name().to_owned()));
        }
        flags.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }

    /// The time for which a visitor stays active after its last request.
    #[must_use]
    pub fn session(&self) -> Duration {
        self.session.unwrap_or(Self::SESSION)
    }
}

/// Parses a time: `90s`, `1m 30s`, or a bare number of seconds.
///
/// # Errors
///
/// The text has another form.
pub fn duration(text: &str) -> Result<Duration, humantime::DurationError> {
    match text.trim().parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => humantime::parse_duration(text),
    }
}
