//! A topology as people read it.

use trncomm_core::topology;
use trncomm_core::units::Bandwidth;

use crate::{fault, settings};

/// What it is made of: ranks, switches and links by tier, costs, packets, fabric and faults, a line each.
pub fn describe(core: &topology::Topology, name: &str) -> String {
    let mut lines = vec![format!(
        "{}: {} ranks {:?}, {} switches, {} directed links",
        name,
        core.ranks(),
        core.shape(),
        core.nodes() - core.ranks(),
        core.links()
    )];
    for (index, label) in core.tiers().iter().enumerate() {
        lines.push(tier_line(core, index, label));
    }
    let endpoint = core.endpoint();
    let rate = |rate: Option<Bandwidth>| rate.map_or("not charged".to_owned(), |rate| rate.to_string());
    lines.push(format!(
        "  a message costs {} to launch and {} to complete; reduction {}, local copy {}",
        endpoint.launch(),
        endpoint.completion(),
        rate(endpoint.reduction()),
        rate(endpoint.copy())
    ));
    lines.extend(settings::limits(endpoint).into_iter().map(|limit| format!("  {limit}")));
    let packets = core.packet_format();
    lines.push(format!(
        "  packets of {} with a header of {}",
        packets.payload(),
        packets.header()
    ));
    lines.push(format!("  {}", settings::describe(core.fabric())));
    if !core.faults().is_empty() {
        lines.push(format!("  faults: {}", fault::list(core)));
    }
    lines.join("\n")
}

/// How many links a tier has, and their rates and latencies.
fn tier_line(core: &topology::Topology, index: usize, label: &str) -> String {
    let of_tier = || (0..core.links()).filter(|&link| usize::from(core.link_tiers()[link]) == index);
    let range = |least: String, most: String| {
        if least == most {
            least
        } else {
            format!("{least} to {most}")
        }
    };
    let rates = || of_tier().map(|link| core.bandwidths()[link]);
    let spans = || of_tier().map(|link| core.latencies()[link]);
    match (rates().min(), rates().max(), spans().min(), spans().max()) {
        (Some(slowest), Some(fastest), Some(nearest), Some(farthest)) => format!(
            "  {label}: {} links of {} and {}",
            of_tier().count(),
            range(slowest.to_string(), fastest.to_string()),
            range(nearest.to_string(), farthest.to_string())
        ),
        _ => format!("  {label}: no links"),
    }
}
