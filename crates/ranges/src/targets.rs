//! `/v1/ranges/KEYSPACE/NUMBER/target`: where an operator wants the replicas of a range.

use dunlin_metadata::Retarget;
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, Rejected, json};
use hyper::StatusCode;

fn parse(body: &[u8]) -> Result<Retarget, Rejected> {
    serde_json::from_slice(body).map_err(|_| {
        Rejected::bad(
            "the body is neither {\"lead\": NODE} nor {\"from\": NODE, \"to\": NODE, \"shard\": NUMBER, \"instead\": BOOL}",
        )
    })
}

/// Gives a range another target, and answers with its number.
pub(crate) async fn retarget(services: &Services, ask: Ask) -> Result<Answer, Rejected> {
    let [_, keyspace, number, _] = &ask.parts[..] else {
        return Err(Rejected::bad("there is no such path"));
    };
    let number = number
        .parse()
        .map_err(|_| Rejected::bad(format!("{number} is not a number of a range")))?;
    let wish = parse(&ask.body)?;
    let planned = services.retarget_range(keyspace, number, &wish).await?;
    let answer = serde_json::json!({ "target": planned });
    Ok(json(StatusCode::ACCEPTED, &answer))
}

#[cfg(test)]
#[path = "targets_tests.rs"]
mod tests;
