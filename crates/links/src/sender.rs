//! Sends the entries of a link's keyspace to the other cluster, for the partitions of which this shard is the first
//! replica that can be reached. Two shards that send one partition do no harm: the target writes no entry twice.

use tokio::time::{Instant, sleep};

use crate::answer::Trouble;
use crate::flow::Flow;
use crate::kept::Kept;
use crate::post::{PAUSE_MAX, PAUSE_MIN, Sender};

impl Sender {
    /// Sends for as long as it is polled.
    pub async fn run(self) {
        let mut pause = PAUSE_MIN;
        loop {
            let leads = self.leads();
            self.gauge.lead(leads.len());
            if leads.is_empty() {
                sleep(PAUSE_MIN * 2).await;
                continue;
            }
            let start = Instant::now();
            match self.send(leads).await {
                Ok(()) => pause = PAUSE_MIN,
                Err(trouble) => {
                    self.gauge.fail(&trouble, self.services.now_ms());
                    if start.elapsed() > self.times.life {
                        pause = PAUSE_MIN;
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// From the committed progress on, until other partitions are to be sent.
    async fn send(&self, leads: Vec<u16>) -> Result<(), Trouble> {
        let loaded = Kept::load(&self.services, self.keyspace, self.link.id).await;
        let (progress, kept) = loaded.map_err(|failure| {
            Trouble::waiting(format!("its progress cannot be read: {failure}"))
        })?;
        let mut flow = Flow::new(self.clone(), leads, progress, kept);
        flow.run().await
    }
}
