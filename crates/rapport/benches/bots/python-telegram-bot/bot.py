"""The job of a chat in Rapport, as a plain bot of python-telegram-bot does it: a tap is answered, the answered card
loses its buttons and shows the answer, and the next card is sent; the three calls at once. Answers are kept in memory.
"""

import asyncio
import os
import re

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity
from telegram.ext import Application, CallbackQueryHandler, CommandHandler

QUESTIONS = int(os.environ["BOT_QUESTIONS"])
OPTIONS = ["To the left", "To the right", "Straight on"]
DIVIDER = "━" * 22

# By chat: the task, and the answers so far.
plans = {}


def text(plan, number):
    percent = (number + 1) * 100 // QUESTIONS
    full = percent // 10
    bar = "▓" * full + "░" * (10 - full)
    options = "".join(f"\n• {label}: What that would mean for the project" for label in OPTIONS)
    return (
        f"📋 Planning: {plan['task']}\n{DIVIDER}\nQ{number + 1} of {QUESTIONS} {bar} {percent}%\n\n"
        f"Which way should step {number + 1} go?\n{options}"
    )


def title(plan):
    return [MessageEntity(MessageEntity.BOLD, 3, len(f"Planning: {plan['task']}"))]


def card(plan):
    number = len(plan["answers"])
    rows = [
        [InlineKeyboardButton(label, callback_data=f"iq:a:{number}:{option}")] for option, label in enumerate(OPTIONS)
    ]
    back = InlineKeyboardButton("← Back", callback_data="iq:back")
    cancel = InlineKeyboardButton("✖ Cancel", callback_data="iq:cancel")
    return InlineKeyboardMarkup([*rows, [back, cancel]])


async def on_plan(update, context):
    plan = {"task": " ".join(context.args), "answers": []}
    plans[update.effective_chat.id] = plan
    await update.effective_chat.send_message(text(plan, 0), entities=title(plan), reply_markup=card(plan))


async def on_answer(update, context):
    query, chat = update.callback_query, update.effective_chat
    plan = plans.get(chat.id)
    number, option = int(context.match[1]), int(context.match[2])
    if plan is None or number != len(plan["answers"]):
        await query.answer("This question is no longer open.")
        return
    plan["answers"].append(OPTIONS[option])
    if number + 1 < QUESTIONS:
        following = chat.send_message(text(plan, number + 1), entities=title(plan), reply_markup=card(plan))
    else:
        confirm = InlineKeyboardMarkup([[InlineKeyboardButton("✅", callback_data="iq:confirm")]])
        following = chat.send_message("✅ Plan Ready", reply_markup=confirm)
    closed = f"{text(plan, number)}\n\n✅ {OPTIONS[option]}"
    edit = query.edit_message_text(closed, entities=title(plan))
    await asyncio.gather(following, query.answer(f"✓ {OPTIONS[option]}"), edit)


async def on_error(update, context):
    print(context.error, flush=True)
    os._exit(1)


def main():
    application = (
        Application.builder()
        .token(os.environ["BOT_TOKEN"])
        .base_url(os.environ["BOT_API_URL"] + "/bot")
        .concurrent_updates(True)
        .build()
    )
    application.add_handler(CommandHandler("plan", on_plan))
    application.add_handler(CallbackQueryHandler(on_answer, pattern=re.compile(r"^iq:a:(\d+):(\d+)$")))
    application.add_error_handler(on_error)
    application.run_polling()


main()
