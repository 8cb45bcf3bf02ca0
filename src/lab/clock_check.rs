//! Checks on a real server, started for this purpose only, whether it obeys the lesson clock.

use std::time::{Duration, Instant};

use redis::{Client, ConnectionAddr, IntoConnectionInfo};
use serde::Serialize;

use super::{Endpoint, Lab, LabOptions};
use crate::clock::Rate;
use crate::lesson::LabKind;
use crate::text::{Text, both};

/// The TTL that the proof uses, in milliseconds of lesson time.
const TTL_MS: u64 = 5_000;

/// How long the paused server is left alone, in real time.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "clock", rename_all = "snake_case")]
pub enum ClockProof {
    /// A real `redis-server` stood still while paused and was past its TTL after a jump.
    Controlled {
        /// The rest of the TTL when the clock stopped, in milliseconds.
        paused_at_ms: i64,
        /// From the start to the first answer of the server, in milliseconds of real time.
        boot_ms: u64,
    },
    /// Lessons run on the machine's own clock here.
    Wall {
        why: String,
        /// The reason in Chinese.
        #[serde(skip)]
        zh: String,
    },
    /// The server does not obey the lesson clock although it should.
    Failed { why: String },
}

/// Starts a real server on the lesson clock and checks whether it obeys.
pub(crate) async fn proof(options: &LabOptions) -> ClockProof {
    try_clock(options).await.unwrap_or_else(|why| ClockProof::Failed { why })
}

async fn try_clock(options: &LabOptions) -> Result<ClockProof, String> {
    let begun = Instant::now();
    let lab = Lab::start(LabKind::Redis, options).await.map_err(|error| error.to_string())?;
    let boot_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    if let Some(why) = lab.wall_clock() {
        let Text { en: why, zh } = why.text();
        lab.shutdown().await;
        return Ok(ClockProof::Wall { why, zh });
    }
    let proof = ask_the_server(&lab, boot_ms).await;
    lab.shutdown().await;
    proof
}

async fn ask_the_server(lab: &Lab, boot_ms: u64) -> Result<ClockProof, String> {
    let said = |error: redis::RedisError| error.to_string();
    let Some(Endpoint::Unix(socket)) = lab.servers.first().map(|server| server.endpoint.clone()) else {
        return Err("the server has no socket".into());
    };
    let address = ConnectionAddr::Unix(socket).into_connection_info().map_err(said)?;
    let client = Client::open(address).map_err(said)?;
    let mut connection = client.get_multiplexed_async_connection().await.map_err(said)?;
    let pttl = redis::cmd("PTTL").arg("proof").to_owned();
    let set = redis::cmd("SET").arg("proof").arg(1).arg("PX").arg(TTL_MS).to_owned();
    set.exec_async(&mut connection).await.map_err(said)?;
    lab.clock().set_rate(Rate::PAUSED).map_err(|error| error.to_string())?;
    let before: i64 = pttl.query_async(&mut connection).await.map_err(said)?;
    // Real time has to pass here: the proof is that it makes no difference.
    tokio::time::sleep(PAUSE).await;
    let after: i64 = pttl.query_async(&mut connection).await.map_err(said)?;
    if before != after {
        return Ok(ClockProof::Failed {
            why: format!("redis-server went on while paused: PTTL was {before} ms, then {after} ms"),
        });
    }
    // Past the end and not onto it: in its last millisecond a key still exists.
    lab.clock().jump(Duration::from_millis(2 * TTL_MS)).map_err(|error| error.to_string())?;
    let value: Option<String> =
        redis::cmd("GET").arg("proof").query_async(&mut connection).await.map_err(said)?;
    Ok(match value {
        None => ClockProof::Controlled { paused_at_ms: before, boot_ms },
        Some(_) => ClockProof::Failed { why: "a key outlived its TTL after a jump of the clock".into() },
    })
}

impl ClockProof {
    pub(super) fn text(&self) -> Text {
        match self {
            Self::Controlled { paused_at_ms, boot_ms } => both!(
                "clock controlled: a real redis-server (up in {boot_ms} ms) kept a TTL at {paused_at_ms} ms while paused, \
                 and let it end in a jump",
                "时钟可控：真实的 redis-server（{boot_ms} ms 启动）在暂停时 TTL 停在 {paused_at_ms} ms，快进后到期"
            ),
            Self::Wall { why, zh } => both!(
                "clock of the machine: {why}",
                "使用机器的真实时钟，暂停只会停住客户端，服务器不会停：{zh}"
            ),
            Self::Failed { why } => both!("clock failed: {why}", "时钟检查失败：{why}"),
        }
    }
}
