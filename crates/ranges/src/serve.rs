//! A request at the leader.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_versions::{Found, Lookup, StoreError, Tier};
use tokio::sync::oneshot;

use crate::group::Group;
use crate::ranges::AtShard;
use crate::wire::{Answer, Asked};

/// A page holds about so many bytes.
const PAGE_BYTES: usize = 256 << 10;
/// And no more keys than this.
const PAGE_KEYS: usize = 4_096;

impl AtShard {
    /// Answers a request, if this replica leads.
    pub async fn serve(self: &Rc<Self>, asked: Asked) -> Answer {
        let id = asked.keyspace();
        let Some(group) = self.group(id) else {
            return Answer::NotLeader(None);
        };
        if let Some(why) = &*group.failed.borrow() {
            return Answer::Failed(why.clone());
        }
        match asked {
            Asked::Leads(_) if group.serves() => Answer::Value(None),
            Asked::Leads(_) => Answer::NotLeader(group.leader()),
            Asked::Write(_, command) => {
                let (waiter, answer) = oneshot::channel();
                let proposal = (command.into(), waiter);
                group.proposals.borrow_mut().push_back(proposal);
                self.touch(&group);
                answer.await.unwrap_or(Answer::Unknown)
            }
            Asked::Read(_, key) => match self.may_read(&group).await {
                Answer::Value(_) => self.read(&group, key).await,
                refused => refused,
            },
            Asked::Page(_, start, end) => match self.may_read(&group).await {
                Answer::Value(_) => self.page(&group, start, end).await,
                refused => refused,
            },
        }
    }

    /// Waits until this replica knows that it leads, and has applied all that was answered before.
    async fn may_read(&self, group: &Group) -> Answer {
        let (waiter, answer) = oneshot::channel();
        group.reads.borrow_mut().add(waiter);
        self.touch(group);
        answer.await.unwrap_or(Answer::NotLeader(None))
    }

    async fn read(&self, group: &Group, key: Bytes) -> Answer {
        let place = group.meta.get().place;
        let found = match self.store.get(place, &key, Tier::CacheOnly) {
            Ok(Lookup::NeedsDisk) => {
                let store = self.store.clone();
                let job = move || store.get(place, &key, Tier::Disk);
                match self.runner.run_read(job).await {
                    Ok(found) => found,
                    Err(gone) => Err(StoreError::Io(gone.to_string())),
                }
            }
            found => found,
        };
        if group.meta.get().place != place {
            // A snapshot has come meanwhile: another leads.
            return Answer::NotLeader(None);
        }
        match found {
            Ok(Lookup::Found(Found {
                version,
                value: Some(value),
            })) => Answer::Value(Some((version, value))),
            Ok(_) => Answer::Value(None),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    async fn page(&self, group: &Group, start: Bytes, end: Option<Bytes>) -> Answer {
        let (place, store) = (group.meta.get().place, self.store.clone());
        let job = move || store.page(place, &start, end.as_deref(), PAGE_BYTES, PAGE_KEYS);
        let read = self.runner.run_read(job).await;
        if group.meta.get().place != place {
            return Answer::NotLeader(None);
        }
        match read {
            Ok(Ok(page)) => Answer::Page(page.items, page.next),
            Ok(Err(error)) => Answer::Failed(error.to_string()),
            Err(gone) => Answer::Failed(gone.to_string()),
        }
    }
}
