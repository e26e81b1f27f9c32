//! A keeper on Redis or Valkey, which keeps the term only.
//!
//! For set-ups that have nothing else. Redis may lose writes that it has acknowledged, so no account
//! is stored in it: each take-over, and each new run of the server, is a recovery. The ledger then
//! grants nothing until every site on the list has reported, and if one of them is down, until
//! everything that was granted before has expired: 422 s with the default rules.
//!
//! It is safe as long as no server answers that was replaced by another one: an isolated primary
//! would confirm the term of an old ledger. `min-replicas-to-write` makes such a server refuse.

use std::{str::FromStr, time::Duration};

use redis::{AsyncConnectionConfig, Client, InfoDict, Script, aio::MultiplexedConnection};
use tokio::time::Instant;
use waiting_room_sites::{
    SiteId,
    escrow::{Changes, Epoch, EscrowRules, Kept, KeptAccount, Standing, Term},
};

use crate::keeper::{KeepError, LedgerKeeper, Seen, TakenOver};

/// How often the settings of the server are looked at.
const SETTINGS_EACH: Duration = Duration::from_secs(60);
/// The time in which the server has to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// A keeper on Redis 6.2 or Valkey 8 or later, which keeps the term of a room and nothing else.
///
/// The limit, the rules and the list of sites are those of the configuration, so all ledgers of a
/// room have the same one. Sites cannot be added, drained, removed or fenced while they run
/// ([`OrderError::TermOnly`](crate::OrderError::TermOnly)). The rules and the list are stored beside the
/// term. A ledger with other rules, or without one of the sites, is refused: it would not wait for what
/// that site holds.
///
/// A server that evicts keys is refused, and looked at again each minute.
#[derive(Debug)]
pub struct RedisKeeper {
    url: String,
    key: String,
    holder: String,
    limit: u32,
    sites: Vec<SiteId>,
    rules: EscrowRules,
    session: Option<Session>,
    /// The run of the server on which this process has taken over.
    run: Option<String>,
}

/// A connection, and what was found on it.
#[derive(Debug)]
struct Session {
    connection: MultiplexedConnection,
    run: String,
    checked_at: Instant,
}

impl RedisKeeper {
    /// Creates a keeper of `room` on the server at `url`, for the process that is called `holder`,
    /// with what is configured. It connects when it is first used.
    #[must_use]
    pub fn new(
        url: impl Into<String>,
        room: &str,
        holder: impl Into<String>,
        limit: u32,
        sites: impl IntoIterator<Item = SiteId>,
        rules: EscrowRules,
    ) -> Self {
        Self {
            url: url.into(),
            key: format!("{{wr:{room}}}:ledger"),
            holder: holder.into(),
            limit,
            sites: sites.into_iter().collect(),
            rules,
            session: None,
            run: None,
        }
    }

    /// A connection whose server was looked at within the last minute.
    async fn session(&mut self) -> Result<&mut Session, KeepError> {
        let is_old = |session: &Session| session.checked_at.elapsed() >= SETTINGS_EACH;
        match self.session.take() {
            Some(session) if !is_old(&session) => Ok(self.session.insert(session)),
            Some(session) => Ok(self.session.insert(Session::check(session.connection).await?)),
            None => Ok(self.session.insert(Session::open(&self.url).await?)),
        }
    }

    async fn try_watch(&mut self) -> Result<Seen, KeepError> {
        let key = self.key.clone();
        let session = self.session().await?;
        type Found = (Option<u32>, Option<u64>, Option<String>, Option<String>, Option<String>);
        let found: Found = redis::cmd("HMGET")
            .arg(key)
            .arg(&["term", "batch", "holder", "sites", "rules"])
            .query_async(&mut session.connection)
            .await
            .map_err(KeepError::unavailable)?;
        let (term, batch, holder, sites, rules) = found;
        let rules = rules.unwrap_or_default();
        self.check_list(&sites.unwrap_or_default(), &rules)?;
        self.check_rules(&rules)?;
        Ok(Seen {
            term: Term::new(term.unwrap_or_default()),
            batch: batch.unwrap_or_default(),
            is_held: holder.is_some(),
        })
    }

    async fn try_take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        let (key, holder) = (self.key.clone(), self.holder.clone());
        let (sites, rules) = (numbers(&self.sites), nanos(&self.rules));
        let session = self.session().await?;
        let term: u32 = Script::new(TAKE_OVER)
            .key(key)
            .arg(seen.term.number())
            .arg(seen.batch)
            .arg(at_least.number())
            .arg(holder)
            .arg(sites)
            .arg(rules)
            .invoke_async(&mut session.connection)
            .await
            .map_err(KeepError::unavailable)?;
        if term == 0 {
            return Ok(None);
        }
        let run = session.run.clone();
        self.run = Some(run);
        let mut kept = Kept::new(Term::new(term), self.limit, self.rules);
        let account = KeptAccount::new(Epoch::default(), Standing::Unknown);
        kept.accounts = self.sites.iter().map(|site| (*site, account)).collect();
        Ok(Some(TakenOver::Lost(kept)))
    }

    async fn try_keep(&mut self, term: Term) -> Result<(), KeepError> {
        let (key, expected) = (self.key.clone(), self.run.clone().unwrap_or_default());
        let session = self.session().await?;
        // The run is part of the same round trip, so that no other server has answered.
        let mut pipe = redis::pipe();
        pipe.atomic().cmd("EVAL").arg(KEEP).arg(1).arg(key).arg(term.number());
        pipe.cmd("INFO").arg("server");
        let (kept, info): (u32, InfoDict) =
            pipe.query_async(&mut session.connection).await.map_err(KeepError::unavailable)?;
        if kept != term.number() {
            return Err(KeepError::Fenced { term: Term::new(kept) });
        }
        let run: String = info.get("run_id").unwrap_or_default();
        if run != expected {
            let found = format!("the run of the server is {run}, expected {expected}");
            return Err(KeepError::Lost { found });
        }
        Ok(())
    }

    /// The time, in seconds, after which a site that is switched off holds nothing, by these rules and by
    /// those that are stored.
    fn seconds_off(&self, stored: &str) -> u64 {
        let times: Vec<_> = words(stored).map(Duration::from_nanos).collect();
        let before = match times[..] {
            [session, lease, margin, ..] => {
                EscrowRules::new().session(session).lease(lease).drift_margin(margin)
            }
            _ => self.rules,
        };
        before.reclaim_after().max(self.rules.reclaim_after()).as_secs() + 1
    }

    /// Refuses a list that lacks a site of the last ledger.
    fn check_list(&self, stored: &str, rules: &str) -> Result<(), KeepError> {
        let listed = |number: &u16| self.sites.iter().any(|site| site.number() == *number);
        let Some(missing) = words(stored).find(|number| !listed(number)) else { return Ok(()) };
        let (sites, key, off) = (numbers(&self.sites), &self.key, self.seconds_off(rules));
        Err(KeepError::Unfit {
            setting: format!(
                "sites is {sites}, expected also {missing}, which the last ledger had; when that site \
                 has been off for {off} s, let the store forget the list: HDEL {key} sites"
            ),
        })
    }

    /// Refuses rules that differ from those of the last ledger.
    fn check_rules(&self, stored: &str) -> Result<(), KeepError> {
        let before = words(stored).map(Duration::from_nanos);
        let Some(((field, given), before)) =
            self.rules.times().into_iter().zip(before).find(|((_, given), before)| given != before)
        else {
            return Ok(());
        };
        let (key, off) = (&self.key, self.seconds_off(stored));
        Err(KeepError::Unfit {
            setting: format!(
                "{field} is {given:?}, expected {before:?} as before; when all sites have been off for \
                 {off} s, let the store forget the rules: HDEL {key} rules"
            ),
        })
    }

    /// Closes the connection after an error, because its server may be another one by now.
    fn forget_on_error<T>(&mut self, result: Result<T, KeepError>) -> Result<T, KeepError> {
        if result.is_err() {
            self.session = None;
        }
        result
    }
}

impl Session {
    async fn open(url: &str) -> Result<Self, KeepError> {
        let client = Client::open(url).map_err(|error| KeepError::Unfit {
            setting: format!("the URL of the keeper: {error}"),
        })?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(KeepError::unavailable)?;
        Self::check(connection).await
    }

    /// Refuses a server that may forget the term.
    async fn check(mut connection: MultiplexedConnection) -> Result<Self, KeepError> {
        let info: InfoDict = redis::cmd("INFO")
            .query_async(&mut connection)
            .await
            .map_err(KeepError::unavailable)?;
        let value = |field: &str| info.get::<String>(field).unwrap_or_default();
        let unfit = |setting: String| Err(KeepError::Unfit { setting });
        let policy = value("maxmemory_policy");
        if policy != "noeviction" {
            return unfit(format!("maxmemory-policy is {policy}, expected noeviction"));
        }
        let role = value("role");
        if role != "master" {
            return unfit(format!("role of the server is {role}, expected master"));
        }
        Ok(Self { connection, run: value("run_id"), checked_at: Instant::now() })
    }
}

impl LedgerKeeper for RedisKeeper {
    const KEEPS_ACCOUNTS: bool = false;

    async fn watch(&mut self) -> Result<Seen, KeepError> {
        let result = self.try_watch().await;
        self.forget_on_error(result)
    }

    async fn take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        let result = self.try_take_over(seen, at_least).await;
        self.forget_on_error(result)
    }

    async fn keep(&mut self, changes: &Changes) -> Result<(), KeepError> {
        let result = self.try_keep(changes.term).await;
        self.forget_on_error(result)
    }

    async fn release(&mut self, term: Term) -> Result<(), KeepError> {
        let key = self.key.clone();
        let session = self.session().await?;
        let released: Result<u32, _> = Script::new(RELEASE)
            .key(key)
            .arg(term.number())
            .invoke_async(&mut session.connection)
            .await;
        released.map(drop).map_err(KeepError::unavailable)
    }
}

/// The numbers of sites, as they are stored and shown.
fn numbers(sites: &[SiteId]) -> String {
    sites.iter().map(|site| site.number().to_string()).collect::<Vec<_>>().join(",")
}

/// The times of the rules in nanoseconds, as they are stored.
fn nanos(rules: &EscrowRules) -> String {
    rules.times().map(|(_, time)| time.as_nanos().to_string()).join(",")
}

/// Reads numbers that are stored. Text that no ledger has written is skipped.
fn words<T: FromStr>(stored: &str) -> impl Iterator<Item = T> {
    stored.split(',').filter_map(|number| number.parse().ok())
}

/// Raises the term if it and the batch are those that were seen. KEYS: the hash of the room. ARGV:
/// the term, the batch, the least new term, the name of the process, its sites, and its rules. Returns
/// the new term, or 0.
const TAKE_OVER: &str = "
local found = redis.call('HMGET', KEYS[1], 'term', 'batch')
local term, batch = tonumber(found[1] or 0), tonumber(found[2] or 0)
if term ~= tonumber(ARGV[1]) or batch ~= tonumber(ARGV[2]) then return 0 end
local next = math.max(term + 1, tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'term', next, 'batch', batch, 'holder', ARGV[4],
    'sites', ARGV[5], 'rules', ARGV[6])
return next
";

/// Counts a batch if the term goes on. KEYS: the hash of the room. ARGV: the term. Returns the term
/// that is kept.
const KEEP: &str = "
local term = tonumber(redis.call('HGET', KEYS[1], 'term') or 0)
if term == tonumber(ARGV[1]) then redis.call('HINCRBY', KEYS[1], 'batch', 1) end
return term
";

/// Gives the room up if the term goes on. KEYS: the hash of the room. ARGV: the term.
const RELEASE: &str = "
if tonumber(redis.call('HGET', KEYS[1], 'term') or 0) ~= tonumber(ARGV[1]) then return 0 end
return redis.call('HDEL', KEYS[1], 'holder')
";
