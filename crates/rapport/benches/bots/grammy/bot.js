// The job of a chat in Rapport, as a plain bot of grammY with its runner does it: a tap is answered, the answered card
// loses its buttons and shows the answer, and the next card is sent; the three calls at once. Answers are kept in
// memory; if BOT_FOLDER is set, they are also written to a file of the chat before the tap is answered.

const { writeFile } = require("node:fs/promises");
const { join } = require("node:path");
const { Bot } = require("grammy");
const { run, sequentialize } = require("@grammyjs/runner");

const { BOT_TOKEN, BOT_API_URL, BOT_FOLDER, BOT_QUESTIONS } = process.env;
const QUESTIONS = Number(BOT_QUESTIONS);
const OPTIONS = ["To the left", "To the right", "Straight on"];
const DIVIDER = "━".repeat(22);

const bot = new Bot(BOT_TOKEN, { client: { apiRoot: BOT_API_URL } });
/** By chat: the task, and the answers so far. */
const plans = new Map();

function text(plan, number) {
  const percent = Math.floor(((number + 1) * 100) / QUESTIONS);
  const full = Math.floor(percent / 10);
  const bar = "▓".repeat(full) + "░".repeat(10 - full);
  const options = OPTIONS.map((label) => `\n• ${label}: What that would mean for the project`).join("");
  return (
    `📋 Planning: ${plan.task}\n${DIVIDER}\nQ${number + 1} of ${QUESTIONS} ${bar} ${percent}%\n\n` +
    `Which way should step ${number + 1} go?\n${options}`
  );
}

function title(plan) {
  return [{ type: "bold", offset: 3, length: `Planning: ${plan.task}`.length }];
}

function card(plan) {
  const number = plan.answers.length;
  const answers = OPTIONS.map((label, option) => [{ text: label, callback_data: `iq:a:${number}:${option}` }]);
  const steps = [{ text: "← Back", callback_data: "iq:back" }, { text: "✖ Cancel", callback_data: "iq:cancel" }];
  return { entities: title(plan), reply_markup: { inline_keyboard: [...answers, steps] } };
}

async function keep(chat, plan) {
  if (BOT_FOLDER) await writeFile(join(BOT_FOLDER, `${chat}.json`), JSON.stringify(plan));
}

bot.use(sequentialize((ctx) => String(ctx.chat?.id)));

bot.command("plan", async (ctx) => {
  const plan = { task: ctx.match, answers: [] };
  plans.set(ctx.chat.id, plan);
  await keep(ctx.chat.id, plan);
  await ctx.reply(text(plan, 0), card(plan));
});

bot.callbackQuery(/^iq:a:(\d+):(\d+)$/, async (ctx) => {
  const plan = plans.get(ctx.chat.id);
  const [number, option] = [Number(ctx.match[1]), Number(ctx.match[2])];
  if (!plan || number !== plan.answers.length) return ctx.answerCallbackQuery("This question is no longer open.");
  plan.answers.push(OPTIONS[option]);
  await keep(ctx.chat.id, plan);
  const next =
    number + 1 < QUESTIONS
      ? ctx.reply(text(plan, number + 1), card(plan))
      : ctx.reply("✅ Plan Ready", { reply_markup: { inline_keyboard: [[{ text: "✅", callback_data: "iq:confirm" }]] } });
  const closed = `${text(plan, number)}\n\n✅ ${OPTIONS[option]}`;
  await Promise.all([
    next,
    ctx.answerCallbackQuery(`✓ ${OPTIONS[option]}`),
    ctx.editMessageText(closed, { entities: title(plan) }),
  ]);
});

bot.catch((error) => {
  console.error(error);
  process.exit(1);
});
run(bot);
