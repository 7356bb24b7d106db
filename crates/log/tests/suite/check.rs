//! `check` and `repair`.

use crate::common::*;
use dunlin_log::{OpenError, Plan, RepairError, check, disk::Disk, repair, sim::SimDisk};

async fn sample() -> (SimDisk, Vec<(u64, bytes::Bytes)>) {
    let disk = SimDisk::new(1);
    let (log, _) = start(&disk, &small()).await;
    for number in 0..600 {
        let index = put(&log, record(number), true);
        log.wait_synced(index).await.unwrap();
    }
    let records = all(&log).await;
    log.close().await.unwrap();
    (disk, records)
}

#[test]
fn a_sound_log_is_described() {
    simulate(async {
        let (disk, records) = sample().await;
        let report = check(&disk, &dir()).unwrap();
        assert!(!report.is_damaged());
        assert!(report.segments.len() > 2);
        let count: u64 = report.segments.iter().map(|segment| segment.records).sum();
        assert_eq!(count, records.len() as u64);
        let payload: u64 = report
            .segments
            .iter()
            .map(|segment| segment.payload_bytes)
            .sum();
        assert_eq!(
            payload,
            records
                .iter()
                .map(|(_, record)| record.len() as u64)
                .sum::<u64>()
        );
        for segment in &report.segments {
            assert!(segment.trouble.is_none());
            assert!(segment.payload_bytes + segment.padding_bytes < segment.bytes);
            assert!(segment.bytes <= segment.file_bytes);
        }
    });
}

#[test]
fn damage_is_found_kept_and_cut() {
    simulate(async {
        let (disk, records) = sample().await;
        let victim = 2;
        disk.flip(&segment(victim), 20_000, 4).unwrap();
        let refused = open(&disk, &small()).await.err().unwrap();
        let OpenError::Damaged { offset, .. } = refused else {
            panic!("{refused}");
        };
        let report = check(&disk, &dir()).unwrap();
        let trouble = report.segments[1].trouble.clone().unwrap();
        assert_eq!(trouble.offset, offset);
        assert!(trouble.damage.is_some() && trouble.cut <= 20_000);
        let plan = report.plan.unwrap();
        assert_eq!(
            plan,
            Plan {
                segment: victim,
                cut: trouble.cut
            }
        );
        let before = disk.contents(&segment(victim)).unwrap();
        let repaired = repair(&disk, &dir(), plan).unwrap();
        assert_eq!(repaired.kept.len(), report.segments.len() - 1);
        disk.crash();
        assert_eq!(
            disk.contents(&path(&repaired.kept[0])).unwrap(),
            before[trouble.cut as usize..]
        );
        assert!(repaired.kept[0].ends_with(&format!(".damaged-{}", trouble.cut)));
        let (log, recovered) = start(&disk, &small()).await;
        assert_eq!(recovered.torn, None);
        let left = all(&log).await;
        let kept = report.segments[0].records + report.segments[1].records;
        assert_eq!(left, records[..kept as usize]);
        let index = put(&log, record(1), true);
        log.wait_synced(index).await.unwrap();
    });
}

#[test]
fn a_damaged_beginning_takes_the_whole_segment() {
    simulate(async {
        let (disk, _) = sample().await;
        disk.flip(&segment(2), 3, 1).unwrap();
        let report = check(&disk, &dir()).unwrap();
        assert_eq!(report.plan, Some(Plan { segment: 2, cut: 0 }));
        repair(&disk, &dir(), report.plan.unwrap()).unwrap();
        let (log, _) = start(&disk, &small()).await;
        assert_eq!(log.last(), report.segments[0].records);
    });
}

#[test]
fn a_torn_tail_is_no_damage() {
    simulate(async {
        let (disk, _) = sample().await;
        let report = check(&disk, &dir()).unwrap();
        let last = report.segments.last().unwrap();
        // The final mark is the last thing there; nothing vouches for it.
        disk.flip(&path(&last.file), last.bytes - 1, 1).unwrap();
        let report = check(&disk, &dir()).unwrap();
        assert!(!report.is_damaged());
        let trouble = report.segments.last().unwrap().trouble.clone().unwrap();
        assert_eq!(trouble.damage, None);
        assert!((19..100).contains(&trouble.cut_bytes), "{trouble:?}");
    });
}

#[test]
fn a_plan_for_another_log_is_refused() {
    let disk = SimDisk::new(1);
    let refused = repair(&disk, &dir(), Plan { segment: 7, cut: 0 }).unwrap_err();
    assert!(matches!(refused, RepairError::NoSegment(_)));
    assert!(disk.list(&dir()).unwrap().is_empty());
}

#[test]
fn an_unknown_version_is_not_touched() {
    simulate(async {
        let (disk, _) = sample().await;
        disk.rename(&segment(1), &path("kept")).unwrap();
        disk.rename(&segment(2), &segment(1)).unwrap();
        // A file under another number holds nothing of that number.
        assert!(open(&disk, &small()).await.is_err());
    });
}
