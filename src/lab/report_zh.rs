//! The findings of `doctor` and installation plans, in Chinese. The English messages are defined with the things
//! themselves. It must not decide which language is shown.

use super::{
    clock_check::ClockProof,
    doctor::{DoctorReport, ProgramReport, ProgramStatus, RoomReport},
    install::InstallPlan,
};
use crate::text::Lang;

/// The findings of `doctor`, one line for each.
pub fn report(report: &DoctorReport) -> String {
    let programs = report.programs.iter().map(program);
    let lines = programs.chain([clock(&report.proof), room(&report.room)]);
    lines.map(|line| line + "\n").collect()
}

fn program(report: &ProgramReport) -> String {
    let need = report.program.name;
    match &report.status {
        ProgramStatus::Found { path, version } => format!("{need} {version}：{}", path.display()),
        ProgramStatus::TooOld { path, version, needed } => {
            format!("{need} {version} 太旧，需要 {needed} 或更新版本：{}", path.display())
        }
        ProgramStatus::Unclear { path, why } => format!("{need} 版本不明：{}（{why}）", path.display()),
        ProgramStatus::Missing { .. } => report.program.missing().chinese(),
    }
}

fn clock(proof: &ClockProof) -> String {
    match proof {
        ClockProof::Controlled { paused_at_ms, boot_ms } => format!(
            "时钟可控：真实的 redis-server（{boot_ms} ms 启动）在暂停时 TTL 停在 {paused_at_ms} ms，快进后到期"
        ),
        ClockProof::Wall { zh, .. } => {
            format!("使用机器的真实时钟，暂停只会停住客户端，服务器不会停：{zh}")
        }
        ClockProof::Failed { why } => format!("时钟检查失败：{why}"),
    }
}

fn room(room: &RoomReport) -> String {
    let directory = room.directory.display();
    match (&room.problem, room.free_mib) {
        (Some(problem), _) => format!("临时目录 {directory} 不可用：{problem}"),
        (None, Some(free)) => format!("临时目录 {directory}：剩余 {free} MiB"),
        (None, None) => format!("临时目录 {directory}"),
    }
}

/// The steps of an installation, and the notes about it.
pub fn plan(plan: &InstallPlan) -> String {
    let steps = plan.steps.iter().map(|step| format!("{step}\n"));
    let notes = plan.notes.iter().map(|note| format!("注意：{}\n", note.get(Lang::Zh)));
    steps.chain(notes).collect()
}
