//! Redis and Valkey as the tests, the benchmarks and the examples need them: started on a free
//! port, killed, stopped for a while, started again, and gone when they are dropped.

mod engine;
mod server;

pub use crate::{
    engine::Engine,
    server::{EngineServer, Persistence},
};
