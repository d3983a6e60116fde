/** A code block of Markdown. */
export const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`
