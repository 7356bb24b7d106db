//! Transactions that append to lists and read them, and whether one order explains them that also respects real time.
//!
//! A list tells its own history: who reads it learns in which order values were appended to it. So who must come before
//! whom is read off directly, and a cycle among these is the proof that no order exists (Kingsbury and Alvaro's Elle).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::graph::{Edge, Graph};
use crate::{Moment, Outcome, Value};

/// One step of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// This value was appended to the list of a key. No value is ever appended twice.
    Append(String, Value),
    /// The list of a key was read.
    Read(String, Vec<Value>),
}

/// A transaction as its client saw it. What one read whose end is unknown is left out: it may never have been told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Who asked.
    pub process: u64,
    /// What it did, in order.
    pub steps: Vec<Step>,
    /// When it began.
    pub invoked: Moment,
    /// How it ended.
    pub outcome: Outcome,
}

/// What cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anomaly {
    /// A read found what nobody appended, or what was appended by one that failed.
    NeverAppended(String),
    /// A read found a value twice, or an order that another read contradicts.
    TwoOrders(String),
    /// A read found some of what a transaction appended to a list, and not all.
    Intermediate(String),
    /// A transaction did not see what it had appended itself.
    NotItsOwn(String),
    /// Each must come before the next, and the last before the first.
    Cycle {
        /// Why each must come before the next.
        edges: Vec<Edge>,
        /// The same for people.
        text: String,
    },
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Anomaly::NeverAppended(text)
            | Anomaly::TwoOrders(text)
            | Anomaly::Intermediate(text)
            | Anomaly::NotItsOwn(text)
            | Anomaly::Cycle { text, .. } => f.write_str(text),
        }
    }
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} from {}:", self.process, self.invoked)?;
        for step in &self.steps {
            match step {
                Step::Append(key, value) => write!(f, " append {value} to {key};")?,
                Step::Read(key, list) => write!(f, " read {key}: {list:?};")?,
            }
        }
        match self.outcome {
            Outcome::Ok { returned } => write!(f, " done at {returned}"),
            Outcome::Unmet { returned } => write!(f, " refused at {returned}"),
            Outcome::Failed => write!(f, " failed"),
            Outcome::Unknown { .. } => write!(f, " end unknown"),
        }
    }
}

/// Judges transactions, in any order: whether they are strictly serializable.
///
/// # Errors
/// What cannot be.
pub fn check_appends(transactions: &[Transaction]) -> Result<(), Anomaly> {
    let writers = writers(transactions);
    let orders = orders(transactions, &writers)?;
    for transaction in transactions {
        if let Outcome::Ok { .. } = transaction.outcome {
            check_own(transaction)?;
        }
    }
    let seen: BTreeSet<Value> = orders.values().flatten().copied().collect();
    // One whose end is unknown counts when somebody saw it.
    let counts = |transaction: &Transaction| match transaction.outcome {
        Outcome::Ok { .. } => true,
        Outcome::Unknown { .. } => appended(transaction).any(|(_, value)| seen.contains(&value)),
        Outcome::Failed | Outcome::Unmet { .. } => false,
    };
    let counted: Vec<bool> = transactions.iter().map(counts).collect();
    let mut graph = Graph::new(transactions.len());
    for (key, order) in &orders {
        for pair in order.windows(2) {
            graph.add(writers[&pair[0]], writers[&pair[1]], Edge::Write);
        }
        for (number, transaction) in transactions.iter().enumerate() {
            if !counted[number] {
                continue;
            }
            // What was appended and never seen came behind all that was.
            let is_unseen = |(to, value): &(&String, Value)| to == key && !seen.contains(value);
            if let Some(last) = order.last()
                && appended(transaction).any(|append| is_unseen(&append))
            {
                graph.add(writers[last], number, Edge::Write);
            }
        }
    }
    add_reads(transactions, &orders, &writers, &counted, &mut graph);
    add_real_time(transactions, &counted, &mut graph);
    let Some(cycle) = graph.cycle() else {
        return Ok(());
    };
    let mut text = String::from("these cannot be in one order, each must come before the next:\n");
    for (number, edge) in &cycle {
        text += &format!(
            "  {}\n    before the next, for {edge}\n",
            transactions[*number]
        );
    }
    Err(Anomaly::Cycle {
        edges: cycle.into_iter().map(|(_, edge)| edge).collect(),
        text,
    })
}

fn appended(transaction: &Transaction) -> impl Iterator<Item = (&String, Value)> {
    transaction.steps.iter().filter_map(|step| match step {
        Step::Append(key, value) => Some((key, *value)),
        Step::Read(..) => None,
    })
}

fn writers(transactions: &[Transaction]) -> BTreeMap<Value, usize> {
    let all = transactions.iter().enumerate();
    all.flat_map(|(number, transaction)| appended(transaction).map(move |(_, v)| (v, number)))
        .collect()
}

/// What a transaction read before it appended to the key itself.
fn reads_of_others(transaction: &Transaction) -> Vec<(&String, &Vec<Value>)> {
    let mut own: BTreeSet<&String> = BTreeSet::new();
    let mut reads = Vec::new();
    for step in &transaction.steps {
        match step {
            Step::Append(key, _) => drop(own.insert(key)),
            Step::Read(key, list) if !own.contains(key) => reads.push((key, list)),
            Step::Read(..) => {}
        }
    }
    reads
}

fn is_ok(transaction: &Transaction) -> bool {
    matches!(transaction.outcome, Outcome::Ok { .. })
}

/// The order of each list, as the longest read tells it.
fn orders<'a>(
    transactions: &'a [Transaction],
    writers: &BTreeMap<Value, usize>,
) -> Result<BTreeMap<&'a String, Vec<Value>>, Anomaly> {
    let mut orders: BTreeMap<&String, Vec<Value>> = BTreeMap::new();
    let keys = transactions.iter().flat_map(appended).map(|(key, _)| key);
    for key in keys {
        orders.entry(key).or_default();
    }
    for transaction in transactions.iter().filter(|t| is_ok(t)) {
        for step in &transaction.steps {
            let Step::Read(key, list) = step else {
                continue;
            };
            for value in list {
                let writer = writers.get(value).map(|writer| &transactions[*writer]);
                let is_there = writer.is_some_and(|writer| {
                    !matches!(writer.outcome, Outcome::Failed | Outcome::Unmet { .. })
                        && appended(writer).any(|(to, appended)| to == key && appended == *value)
                });
                if !is_there {
                    let text = match writer {
                        Some(writer) => format!("{transaction}\n  found {value} of {writer}"),
                        None => format!("{transaction}\n  found {value}, which nobody appended"),
                    };
                    return Err(Anomaly::NeverAppended(text));
                }
            }
            let order = orders.entry(key).or_default();
            let common = order.len().min(list.len());
            let unique: BTreeSet<&Value> = list.iter().collect();
            if order[..common] != list[..common] || unique.len() != list.len() {
                let text = format!("{transaction}\n  found another order of {key} than {order:?}");
                return Err(Anomaly::TwoOrders(text));
            }
            if list.len() > order.len() {
                *order = list.clone();
            }
        }
    }
    for transaction in transactions.iter().filter(|t| is_ok(t)) {
        for (key, list) in reads_of_others(transaction) {
            let Some(writer) = list.last().map(|last| writers[last]) else {
                continue;
            };
            let next = orders[key].get(list.len()).map(|next| writers[next]);
            if next == Some(writer) && transactions[writer] != *transaction {
                let text = format!(
                    "{transaction}\n  found part of what was appended by {}",
                    transactions[writer]
                );
                return Err(Anomaly::Intermediate(text));
            }
        }
    }
    Ok(orders)
}

fn check_own(transaction: &Transaction) -> Result<(), Anomaly> {
    let mut known: BTreeMap<&String, (Option<Vec<Value>>, Vec<Value>)> = BTreeMap::new();
    for step in &transaction.steps {
        match step {
            Step::Append(key, value) => known.entry(key).or_default().1.push(*value),
            Step::Read(key, list) => {
                let (first, own) = known.entry(key).or_default();
                let is_right = match first {
                    Some(first) => *list == [&first[..], own].concat(),
                    None => list.ends_with(own),
                };
                if !is_right {
                    let text = format!("{transaction}\n  does not agree with itself on {key}");
                    return Err(Anomaly::NotItsOwn(text));
                }
                first.get_or_insert_with(|| list[..list.len() - own.len()].to_vec());
            }
        }
    }
    Ok(())
}

fn add_reads(
    transactions: &[Transaction],
    orders: &BTreeMap<&String, Vec<Value>>,
    writers: &BTreeMap<Value, usize>,
    counted: &[bool],
    graph: &mut Graph,
) {
    let mut unseen: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (number, transaction) in transactions.iter().enumerate() {
        for (key, value) in appended(transaction) {
            if counted[number] && !orders[key].contains(&value) {
                unseen.entry(key).or_default().push(number);
            }
        }
    }
    for (number, transaction) in transactions.iter().enumerate() {
        if !is_ok(transaction) {
            continue;
        }
        for (key, list) in reads_of_others(transaction) {
            if let Some(last) = list.last() {
                graph.add(writers[last], number, Edge::Read);
            }
            let order = orders.get(key).map(Vec::as_slice).unwrap_or_default();
            match order.get(list.len()) {
                Some(next) => graph.add(number, writers[next], Edge::Missed),
                None => {
                    for writer in unseen.get(key).into_iter().flatten() {
                        graph.add(number, *writer, Edge::Missed);
                    }
                }
            }
        }
    }
}

/// Who ended before another began comes before it. Only from those that no other of them follows: the rest is implied.
fn add_real_time(transactions: &[Transaction], counted: &[bool], graph: &mut Graph) {
    let mut events: Vec<(Moment, bool, usize)> = Vec::new();
    for (number, transaction) in transactions.iter().enumerate() {
        if counted[number] {
            // What begins when another ends is beside it.
            events.push((transaction.invoked, false, number));
            if let Outcome::Ok { returned } = transaction.outcome {
                events.push((returned, true, number));
            }
        }
    }
    events.sort_unstable();
    let mut ended: Vec<usize> = Vec::new();
    let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (_, is_end, number) in events {
        if is_end {
            let implied = before.remove(&number).unwrap_or_default();
            ended.retain(|other| !implied.contains(other));
            ended.push(number);
        } else {
            for other in &ended {
                graph.add(*other, number, Edge::RealTime);
            }
            before.insert(number, ended.clone());
        }
    }
}
