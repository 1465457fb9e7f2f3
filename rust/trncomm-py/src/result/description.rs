//! A result as a screen of text.

use trncomm_core::bounds::Bound as TimeBound;
use trncomm_core::engine::{Histogram, Traffic};
use trncomm_core::ids::LinkId;
use trncomm_core::result::{Busiest, SimulationResult};
use trncomm_core::topology;
use trncomm_core::units::{Bytes, Time};

use crate::fault;
use crate::nodes::link_name;
use crate::text::{brief, rate};
use crate::topology::Topology;

/// A screen of text.
pub fn describe(topology: &Topology, result: &SimulationResult, bound: Option<&TimeBound>) -> String {
    let collective = result.goal().collective;
    let (size, algorithm, name) = (result.size(), result.algorithm(), &topology.name);
    let (ranks, model) = (result.ranks(), result.model());
    let (numerator, denominator) = collective.bus_factor(ranks);
    let first = result.finish().iter().min().copied().unwrap_or_default();
    let busiest = result.busiest().map_or("none".to_owned(), |busiest| {
        describe_busiest(&topology.core, busiest, result)
    });
    let (messages, hops, events) = (result.messages(), result.packet_hops(), result.events());
    let mut lines = vec![
        format!("{collective} of {size} by {algorithm} on {name}: {ranks} ranks, model {model}"),
        format!(
            "  time      {} (first rank done after {})",
            brief(result.time()),
            brief(first)
        ),
        format!(
            "  algbw     {:.3} GB/s (size / time)",
            result.algorithm_bandwidth() / 1e9
        ),
        format!(
            "  busbw     {} (algbw × {numerator}/{denominator})",
            rate(result.bus_bandwidth())
        ),
        format!(
            "  bound     {}",
            bound.map_or(NO_BOUND.to_owned(), |bound| {
                describe_bound(bound.time, bound.kind.name(), &bound.explanation, result.time())
            })
        ),
        format!("  busiest   {busiest}"),
    ];
    lines.extend(describe_latency(&result.outcome().latencies));
    lines.extend(describe_waits(&topology.core, &result.outcome().traffic));
    if !topology.core.faults().is_empty() {
        lines.push(format!("  faults    {}", fault::list(&topology.core)));
    }
    let run = result.outcome().run;
    if run.ranks < ranks {
        lines.push(format!(
            "  folded    {} of {ranks} ranks and {} of {} links were run, for all that are alike",
            run.ranks,
            run.links,
            topology.core.links()
        ));
    }
    let leapt = result.outcome().leapt;
    if leapt.leaps > 0 {
        lines.push(format!(
            "  leapt     {} of {}, which repeats what came before",
            brief(leapt.time),
            brief(result.time())
        ));
    }
    lines.push(format!(
        "  counters  {messages} messages, {hops} packet-hops, {events} events"
    ));
    lines.join("\n")
}

/// What is said where no bound is known.
pub const NO_BOUND: &str = "none known";

/// What no schedule can beat, what it follows from, and how far above it a run of so long is.
pub fn describe_bound(bound: Time, kind: &str, explanation: &str, time: Time) -> String {
    let distance = if bound == Time::ZERO {
        String::new()
    } else {
        format!("; the time is {:.2} times that", time.seconds() / bound.seconds())
    };
    format!("{} ({kind}: {explanation}){distance}", brief(bound))
}

/// Which link was busiest, and how busy.
fn describe_busiest(topology: &topology::Topology, busiest: Busiest, result: &SimulationResult) -> String {
    format!(
        "{}, sending {:.1} % of the time",
        link_name(topology, busiest.link),
        100.0 * result.wire_efficiency()
    )
}

/// How long messages took.
fn describe_latency(latencies: &Histogram) -> Option<String> {
    let percentile = |percent| latencies.percentile(percent).map(brief);
    Some(format!(
        "  latency   of a message {} to {}, median {}, 99 % within {}",
        brief(latencies.least()?),
        brief(latencies.most()?),
        percentile(50)?,
        percentile(99)?
    ))
}

/// Where packets waited; nothing where the model doesn't know or none did.
fn describe_waits(topology: &topology::Topology, traffic: &Traffic) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((link, longest)) = most(&traffic.link_longest_wait) {
        let (name, longest) = (link_name(topology, link), brief(Time::from_picoseconds(longest)));
        lines.push(format!("  waiting   a packet up to {longest}, for {name}"));
    }
    if let Some((link, peak)) = most(&traffic.queue_peak) {
        let (name, peak) = (link_name(topology, link), Bytes::new(peak));
        lines.push(format!("  queue     up to {peak}, for {name}"));
    }
    if let Some((link, held)) = most(&traffic.link_held) {
        let (name, held) = (link_name(topology, link), brief(Time::from_picoseconds(held)));
        lines.push(format!("  no room   held up {name} for {held}"));
    }
    lines
}

/// The largest value of a column above zero, and the first link that has it.
fn most(column: &[u64]) -> Option<(LinkId, u64)> {
    let largest = column.iter().copied().max().filter(|&value| value > 0)?;
    let first = column.iter().position(|&value| value == largest)?;
    Some((LinkId::new(first), largest))
}

/// How busy the links of each tier were during `time`, a line a tier that has links.
#[allow(clippy::cast_precision_loss)] // for people
pub fn describe_loads(topology: &topology::Topology, busy: &[u64], time: Time) -> String {
    // By tier: links, their busy time together, and the busiest, the first of several.
    let mut tiers = vec![(0_u32, 0_u128, None); topology.tiers().len()];
    for (link, (&tier, &busy)) in topology.link_tiers().iter().zip(busy).enumerate() {
        let (links, sum, most) = &mut tiers[usize::from(tier)];
        (*links, *sum) = (*links + 1, *sum + u128::from(busy));
        if most.is_none_or(|(longest, _)| busy > longest) {
            *most = Some((busy, LinkId::new(link)));
        }
    }
    let share = |busy: f64| 100.0 * busy / time.picoseconds().max(1) as f64;
    let lines = topology.tiers().iter().zip(tiers);
    let lines = lines.filter_map(|(name, (links, sum, most))| {
        let (busy, link) = most?;
        Some(format!(
            "  tier {name}: {links} links, sending {:.1} % of the time on average, {:.1} % for {}",
            share(sum as f64 / f64::from(links)),
            share(busy as f64),
            link_name(topology, link)
        ))
    });
    lines.collect::<Vec<_>>().join("\n")
}
