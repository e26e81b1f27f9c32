//! How many connections a process may have.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Has this process, and those that it starts, have as many connections as the machine lets it.
pub(crate) fn allow_many_connections() -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}
