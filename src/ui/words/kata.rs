//! Texts of the exercises.

use super::Words;

pub const KATA: Words = Words::new("Kata", "练习");
/// The numbers of solved exercises and of all exercises.
pub const KATA_SOLVED: Words = Words::new("{} of {} solved", "已完成 {}/{}");
pub const KATA_TASK: Words = Words::new("TASK", "任务");
pub const KATA_FILE: Words = Words::new("YOUR FILE: change it and save it", "你的文件：修改并保存");
pub const KATA_ROUNDS: Words = Words::new("ROUNDS", "轮次");
pub const KATA_JUDGING: Words = Words::new("judging …", "正在判定……");
/// The number of orders, the number of milliseconds.
pub const KATA_HELD_ROUNDS: Words = Words::new("{} rounds", "前 {} 轮");
pub const KATA_HELD: Words = Words::new("all orders ({}), {} ms", "所有顺序（{} 种），{} 毫秒");
pub const KATA_ORDER: Words = Words::new("AN ORDER THAT SHOWS IT", "一种出错的执行顺序");
/// For answers that fail because no order shows what is required.
pub const KATA_ANY_ORDER: Words = Words::new("ONE OF THE ORDERS", "其中一种执行顺序");
pub const KATA_HINT: Words = Words::new("HINT", "提示");
pub const KATA_DONE: Words = Words::new("SOLVED", "已解决");
pub const KATA_SOLUTION: Words = Words::new("A SOLUTION", "参考答案");
/// At the end of the order that broke an answer.
pub const ANSWER_BREAKS: Words = Words::new("✗ YOUR ANSWER BREAKS HERE", "✗ 你的答案在这里出错");
pub const KATA_GIVEN: Words = Words::new("WHAT IS GIVEN", "已知条件");
/// At the foot of the screen after an exercise is solved; with the key.
pub const NEXT_EXERCISE: Words = Words::new("{}: next exercise", "按 {} 做下一个练习");
